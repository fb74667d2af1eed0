"""CPUs and memory. Source: kubernetes-sigs/dra-driver-cpu (August 2026), ffromani/dra-driver-memory (February 2026)."""

from __future__ import annotations

from dataclasses import replace

from dractl.generate.drivers.form import NUMA_NODE, Attribute, Capacity, DeviceClassData, DeviceForm, Driver

CPU = Driver(
    name="dra.cpu",
    title="CPUs",
    source="kubernetes-sigs/dra-driver-cpu",
    forms=(
        DeviceForm(
            "numanode",
            "cpu-nodes",
            "cpudevnuma{cpu.nodePadded}",
            (
                Attribute("socketID", "int", "cpu.socket"),
                Attribute("numCPUs", "int", "cpu.count"),
                Attribute("smtEnabled", "bool", "cpu.smt"),
                Attribute("numaNodeID", "int", "cpu.node"),
                Attribute("dra.net/numaNode", "int", "cpu.node"),
                replace(NUMA_NODE, fact="cpu.node", since="0.3"),
            ),
            (Capacity("dra.cpu/cpu", "cpu.count"),),
            shared=True,
            not_gate="individual",
        ),
        DeviceForm(
            "individual",
            "cpus",
            "cpudev{cpu.padded}",
            (
                Attribute("socketID", "int", "cpu.socket"),
                Attribute("smtEnabled", "bool", "cpu.smt"),
                Attribute("cacheL3ID", "int", "cpu.cache"),
                Attribute("coreType", "string", "=standard"),
                Attribute("coreID", "int", "cpu.core"),
                Attribute("cpuID", "int", "cpu.id"),
                Attribute("numaNodeID", "int", "cpu.node"),
                Attribute("dra.net/numaNode", "int", "cpu.node"),
                replace(NUMA_NODE, fact="cpu.node", since="0.3"),
            ),
            gate="individual",
        ),
    ),
    releases=("0.1", "0.2", "0.3"),
    classes=(DeviceClassData("dra.cpu", "device.driver == 'dra.cpu'"),),
    gates=("individual", "DRAListTypeAttributes"),
    daemonset="dra-driver-cpu",
    daemonset_labels=(("k8s-app", "dra-driver-cpu"),),
    notes=(
        "reserved CPUs are left out by the driver; dractl does not know which these are",
        "this is the default mode (grouped by NUMA node); --feature individual shows one device a CPU",
        "a request without capacity takes the whole group",
    ),
)

MEMORY = Driver(
    name="dra.memory",
    title="Memory and huge pages",
    source="ffromani/dra-driver-memory",
    forms=(
        DeviceForm(
            "memory",
            "memory-nodes",
            "{memory.name}",
            (
                Attribute("resource.kubernetes.io/pageSize", "string", "memory.pageSize"),
                Attribute("resource.kubernetes.io/hugeTLB", "bool", "memory.huge"),
                Attribute("dra.cpu/numaNodeID", "int", "memory.node"),
                Attribute("dra.net/numaNode", "int", "memory.node"),
                replace(NUMA_NODE, fact="memory.node"),
            ),
            (Capacity("size", "memory.size", default="@memory.step", minimum="@memory.step", step="@memory.step"),),
            shared=True,
        ),
    ),
    classes=(
        DeviceClassData(
            "dra.memory",
            "device.driver == 'dra.memory' && device.attributes['resource.kubernetes.io'].hugeTLB == false",
        ),
        DeviceClassData(
            "dra.hugepages-2m",
            "device.driver == 'dra.memory' && device.attributes['resource.kubernetes.io'].hugeTLB == true && "
            "device.attributes['resource.kubernetes.io'].pageSize == '2Mi'",
        ),
        DeviceClassData(
            "dra.hugepages-1g",
            "device.driver == 'dra.memory' && device.attributes['resource.kubernetes.io'].hugeTLB == true && "
            "device.attributes['resource.kubernetes.io'].pageSize == '1Gi'",
        ),
    ),
    daemonset="dramemory",
    notes=("device names end in six random characters that change at each start; here they end in the node's number",),
)

DRIVERS = (CPU, MEMORY)
