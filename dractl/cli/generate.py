"""``dractl generate``: from what is wanted to manifests that are tried out before they are printed."""

from __future__ import annotations

from typing import Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.generating import Form, Wanted, finish, number_of, open_fleet, pairs_of, split_command, try_out
from dractl.cli.watching import register

app = new_app(help="Make manifests from what is wanted, and try them on a fleet before they are printed.")

Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the new object.", show_default=False)]
MakeNamespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NS", help="Namespace of the new object.")
]
Gpu = Annotated[
    list[str] | None, typer.Option("--gpu", metavar="WHAT", help="GPUs: 'h100*8', 'memory>=40Gi', 'nvidia'.")
]
Mig = Annotated[list[str] | None, typer.Option("--mig", metavar="PROFILE", help="MIG devices: '1g.5gb*2'.")]
Nic = Annotated[list[str] | None, typer.Option("--nic", metavar="WHAT", help="NICs: 'rdma*8'.")]
Cpu = Annotated[str | None, typer.Option("--cpu", metavar="N", help="Exclusive CPUs of the DRA CPU driver: 16.")]
Device = Annotated[
    list[str] | None, typer.Option("--device", metavar="WHAT", help="Devices of any driver: 'tpu.google.com*4'.")
]
Count = Annotated[int | None, typer.Option("--count", metavar="N", min=1, help="How many of the first kind.")]
Fallback = Annotated[
    str | None, typer.Option("--fallback", metavar="WHAT,...", help="Take these instead, in this order: 'a100,l40s'.")
]
Same = Annotated[
    list[str] | None, typer.Option("--same", metavar="NAME", help="All devices share this: numa, pcie, an attribute.")
]
Numa = Annotated[str | None, typer.Option("--numa", metavar="same", help="--numa same is --same numa.")]
Align = Annotated[
    str | None,
    typer.Option("--align", metavar="NAME", help="Each GPU with a NIC of its own that shares this: pcie, numa."),
]
Distinct = Annotated[
    str | None, typer.Option("--distinct", metavar="NAME", help="All devices differ in this attribute.")
]
Share = Annotated[str | None, typer.Option("--share", metavar="AMOUNT", help="Only a part of a device: 10Gi.")]
Where = Annotated[str | None, typer.Option("--where", metavar="CEL", help="A condition of your own on the first kind.")]
Tolerate = Annotated[
    list[str] | None, typer.Option("--tolerate", metavar="KEY", help="Also devices with this taint (repeatable).")
]
Admin = Annotated[bool, typer.Option("--admin-access", help="Also devices in use, for monitoring.")]
Interactive = Annotated[bool, typer.Option("--interactive", "-i", help="Ask for what is wanted.")]
Output = Annotated[Form, typer.Option("--output", "-o", help="Output format.", show_default=False)]
RequireFit = Annotated[
    bool, typer.Option("--require-fit", help="Print nothing that no node of the fleet could ever serve (exit code 1).")
]


@app.command()
def claim(
    name: Name = None,
    namespace: MakeNamespace = None,
    gpu: Gpu = None,
    mig: Mig = None,
    nic: Nic = None,
    cpu: Cpu = None,
    device: Device = None,
    count: Count = None,
    fallback: Fallback = None,
    same: Same = None,
    numa: Numa = None,
    align: Align = None,
    distinct: Distinct = None,
    share: Share = None,
    where: Where = None,
    tolerate: Tolerate = None,
    admin_access: Admin = False,
    interactive: Interactive = False,
    output: Output = Form.YAML,
    require_fit: RequireFit = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A ResourceClaim: devices that all pods naming it share."""
    from dractl.generate.claim import claim as make
    from dractl.generate.claim import claim_spec

    wanted = Wanted(
        name, gpu, mig, nic, cpu, device, count, fallback, same, numa, align, distinct, share, where, tolerate,
        admin_access, interactive,
    )  # fmt: skip
    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, require_fit)
    asked, name = wanted.asked(fleet.catalog, "claim")
    return try_out([make(name, namespace, claim_spec(asked, fleet.catalog))], fleet, output, require_fit)


@app.command()
def claimtemplate(
    name: Name = None,
    namespace: MakeNamespace = None,
    gpu: Gpu = None,
    mig: Mig = None,
    nic: Nic = None,
    cpu: Cpu = None,
    device: Device = None,
    count: Count = None,
    fallback: Fallback = None,
    same: Same = None,
    numa: Numa = None,
    align: Align = None,
    distinct: Distinct = None,
    share: Share = None,
    where: Where = None,
    tolerate: Tolerate = None,
    admin_access: Admin = False,
    interactive: Interactive = False,
    output: Output = Form.YAML,
    require_fit: RequireFit = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A ResourceClaimTemplate: devices for each pod that names it."""
    from dractl.generate.claim import claim_spec, template

    wanted = Wanted(
        name, gpu, mig, nic, cpu, device, count, fallback, same, numa, align, distinct, share, where, tolerate,
        admin_access, interactive,
    )  # fmt: skip
    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, require_fit)
    asked, name = wanted.asked(fleet.catalog, "template")
    return try_out([template(name, namespace, claim_spec(asked, fleet.catalog))], fleet, output, require_fit)


@app.command()
def pod(
    name: Name = None,
    namespace: MakeNamespace = None,
    image: Annotated[str | None, typer.Option("--image", metavar="IMAGE", help="Image of the container.")] = None,
    command: Annotated[
        str | None, typer.Option("--command", metavar="TEXT", help="What the container runs: 'nvidia-smi -L'.")
    ] = None,
    gpu: Gpu = None,
    mig: Mig = None,
    nic: Nic = None,
    cpu: Cpu = None,
    device: Device = None,
    count: Count = None,
    fallback: Fallback = None,
    same: Same = None,
    numa: Numa = None,
    align: Align = None,
    distinct: Distinct = None,
    share: Share = None,
    where: Where = None,
    tolerate: Tolerate = None,
    admin_access: Admin = False,
    interactive: Interactive = False,
    output: Output = Form.YAML,
    require_fit: RequireFit = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A pod with a claim template of its own."""
    from dractl.generate.claim import claim_spec
    from dractl.generate.workload import pod as make

    wanted = Wanted(
        name, gpu, mig, nic, cpu, device, count, fallback, same, numa, align, distinct, share, where, tolerate,
        admin_access, interactive,
    )  # fmt: skip
    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, require_fit)
    asked, name = wanted.asked(fleet.catalog, "pod")
    made = make(name, namespace, claim_spec(asked, fleet.catalog), image, split_command(command))
    return try_out(made, fleet, output, require_fit)


@app.command()
def deviceclass(
    name: Name = None,
    gpu: Gpu = None,
    mig: Mig = None,
    nic: Nic = None,
    device: Device = None,
    where: Where = None,
    extended_resource: Annotated[
        str | None,
        typer.Option("--extended-resource", metavar="NAME", help="Serve this resource too: example.com/a100."),
    ] = None,
    interactive: Interactive = False,
    output: Output = Form.YAML,
    require_fit: RequireFit = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A DeviceClass: a name for devices of one kind."""
    from dractl.errors import DractlError
    from dractl.generate.deviceclass import device_class

    wanted = Wanted(name, gpu, mig, nic, None, device, interactive=interactive)
    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, require_fit)
    asked, name = wanted.asked(fleet.catalog, "class")
    if len(asked.wishes) != 1:
        raise DractlError("a class is for one kind of device", "Give one of --gpu, --mig, --nic, --device.")
    made = device_class(name, asked.wishes[0], fleet.catalog, extended_resource, where)
    return try_out([made], fleet, output, require_fit)


@app.command()
def taintrule(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the rule.")],
    driver: Annotated[str | None, typer.Option("--driver", metavar="NAME", help="Devices of this driver.")] = None,
    pool: Annotated[
        str | None, typer.Option("--pool", metavar="NAME", help="Devices of this pool: mostly the node's name.")
    ] = None,
    device: Annotated[str | None, typer.Option("--device", metavar="NAME", help="The device of this name.")] = None,
    key: Annotated[str, typer.Option("--key", metavar="KEY", help="Key of the taint.")] = "dractl.dev/maintenance",
    value: Annotated[str | None, typer.Option("--value", metavar="TEXT", help="Value of the taint.")] = None,
    effect: Annotated[
        str, typer.Option("--effect", metavar="EFFECT", help="NoSchedule, NoExecute or None.")
    ] = "NoSchedule",
    output: Output = Form.YAML,
    require_fit: Annotated[
        bool, typer.Option("--require-fit", help="Print nothing if no device of the fleet is tainted (exit code 1).")
    ] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A DeviceTaintRule: take devices out of service."""
    from dractl.errors import DractlError, Exit
    from dractl.generate.taintrule import Chosen, reach, taint_rule

    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, require_fit)
    chosen = Chosen(driver, pool, device)
    made = [taint_rule(name, chosen, key, value, effect, fleet.release_pair)]
    if fleet.inventory is None:
        return finish(made, fleet, output)
    found = reach(fleet.inventory, chosen, effect)
    if require_fit and not found.devices:
        raise DractlError(f"the rule {found.text}", "Look at dractl get pools and dractl get devices.", Exit.NOT_GOOD)
    return finish(made, fleet, output, found.text)


@app.command(name="slice")
def slice_(
    driver: Annotated[str, typer.Option("--driver", metavar="NAME", help="The DRA driver to publish as.")],
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Name of the node; the host's name if not given.")
    ] = None,
    root: Annotated[
        str | None,
        typer.Option("--root", metavar="DIR|TAR", help="A tree or a capture of discover instead of this machine."),
    ] = None,
    driver_version: Annotated[
        str | None, typer.Option("--driver-version", metavar="V", help="The driver's release; newest if not given.")
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option("--feature", metavar="GATE", help="A gate of the driver that is on.")
    ] = None,
    output: Output = Form.YAML,
    kubernetes: options.Kubernetes = None,
) -> int:
    """ResourceSlices: what a driver should publish for the hardware that discover sees."""
    from dractl.cli.output import note
    from dractl.errors import DractlError, Exit
    from dractl.generate.manifest import Manifest
    from dractl.hardware.publish import publish
    from dractl.hardware.readers.host import Asking, read_host
    from dractl.hardware.readers.root import open_root

    fleet = open_fleet(None, False, None, None, kubernetes, False)
    host = read_host(open_root(root), root is None, Asking(None, 30.0, note))
    found = publish(
        host, driver, node or host.machine.hostname or "this-node", driver_version, frozenset(feature or ())
    )
    if not found.slices:
        raise DractlError("; ".join(found.notes), "See what is there with dractl discover.", Exit.NOT_GOOD)
    made = [Manifest(body) for body in found.slices]
    made[0].head = [f"What {driver} should publish here; drivers write their slices themselves.", *found.notes]
    return finish(made, fleet, output)


@app.command()
def quota(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the quota.")],
    namespace: MakeNamespace = None,
    class_: Annotated[
        list[str] | None, typer.Option("--class", metavar="CLASS=N", help="At most N devices of this DeviceClass.")
    ] = None,
    claims: Annotated[int | None, typer.Option("--claims", metavar="N", min=0, help="At most N claims.")] = None,
    templates: Annotated[
        int | None, typer.Option("--templates", metavar="N", min=0, help="At most N claim templates.")
    ] = None,
    output: Output = Form.YAML,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A ResourceQuota: how many devices and claims a namespace may have."""
    from dractl.generate.quota import quota as make
    from dractl.generate.quota import usage_text

    classes = {key: number_of(key, value) for key, value in pairs_of("--class", class_ or []).items()}
    fleet = open_fleet(snapshot, demo, context, kubeconfig, kubernetes, False)
    made = [make(name, namespace, classes, claims, templates)]
    said = usage_text(fleet.inventory, namespace or "default", classes) if fleet.inventory is not None else ""
    return finish(made, fleet, output, said)


@app.command()
def rbac(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the role; dra-PERSONA if not given.")
    ] = None,
    persona: Annotated[
        str, typer.Option("--persona", metavar="WHO", help="admin, workload, driver, scheduler or viewer.")
    ] = "viewer",
    namespace: MakeNamespace = None,
    service_account: Annotated[
        str | None, typer.Option("--service-account", metavar="NS:NAME", help="Bind the role to this ServiceAccount.")
    ] = None,
    driver: Annotated[
        str | None, typer.Option("--driver", metavar="NAME", help="With --persona driver: the driver's name.")
    ] = None,
    any_node: Annotated[
        bool, typer.Option("--any-node", help="The driver reports on devices of all nodes (network attached ones).")
    ] = False,
    output: Output = Form.YAML,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Roles with the least privilege for DRA."""
    from dractl.generate.rbac import rbac as make
    from dractl.generate.rbac import subject

    fleet = open_fleet(None, False, None, None, kubernetes, False)
    account = subject(service_account) if service_account else None
    made = make(persona, name or f"dra-{persona}", fleet.release_pair, driver, account, namespace, any_node)
    return finish(made, fleet, output)


@app.command(name="admission-policy")
def admission_policy(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the policy.")] = None,
    driver: Annotated[
        str | None, typer.Option("--driver", metavar="NAME", help="Hold this driver to slices of its own node.")
    ] = None,
    service_account: Annotated[
        str | None, typer.Option("--service-account", metavar="NS:NAME", help="The driver's ServiceAccount.")
    ] = None,
    admin_access: Annotated[
        bool, typer.Option("--admin-access", help="Admin access only in labelled namespaces.")
    ] = False,
    allow_group: Annotated[
        list[str] | None, typer.Option("--allow-group", metavar="GROUP", help="Admin access only by these groups.")
    ] = None,
    output: Output = Form.YAML,
    kubernetes: options.Kubernetes = None,
) -> int:
    """ValidatingAdmissionPolicies: what roles cannot say about slices and admin access."""
    from dractl.errors import DractlError
    from dractl.generate.policy import admin_policies, slices_policy
    from dractl.generate.rbac import subject

    if not driver and not admin_access and not allow_group:
        raise DractlError(
            "nothing is asked for", "Give --driver NAME --service-account NS:NAME, or --admin-access, or both."
        )
    if bool(driver) != bool(service_account):
        raise DractlError("--driver and --service-account go together", "Give both: who publishes as which driver.")
    made = []
    if driver and service_account:
        made += slices_policy(name or f"{driver}-slices", driver, subject(service_account))
    if admin_access or allow_group:
        made += admin_policies(f"{name}-admin" if name and driver else name or "dra-admin-access", allow_group or [])
    return finish(made, open_fleet(None, False, None, None, kubernetes, False), output)


@app.command()
def deviceplugin(
    name: Name = None,
    vendor: Annotated[str, typer.Option("--vendor", metavar="VENDOR", help="nvidia, amd or intel.")] = "nvidia",
    namespace: Annotated[str, typer.Option("--namespace", "-n", metavar="NS", help="Its namespace.")] = "kube-system",
    image: Annotated[str | None, typer.Option("--image", metavar="IMAGE", help="The plugin's image.")] = None,
    node_selector: Annotated[
        list[str] | None, typer.Option("--node-selector", metavar="KEY=VALUE", help="Only on nodes with this label.")
    ] = None,
    output: Output = Form.YAML,
    kubernetes: options.Kubernetes = None,
) -> int:
    """The DaemonSet of a device plugin, for nodes without DRA."""
    from dractl.generate.deviceplugin import device_plugin

    labels = pairs_of("--node-selector", node_selector or [])
    made = device_plugin(vendor, name, namespace, image, labels)
    return finish([made], open_fleet(None, False, None, None, kubernetes, False), output)


@app.command(name="node-agent")
def node_agent(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the objects.")] = "dractl-node-agent",
    namespace: Annotated[str, typer.Option("--namespace", "-n", metavar="NS", help="Their namespace.")] = "dractl",
    image: Annotated[str | None, typer.Option("--image", metavar="IMAGE", help="An image with dractl in it.")] = None,
    interval: Annotated[
        int, typer.Option("--interval", metavar="SECONDS", min=1, help="How often each node is looked at.")
    ] = 300,
    api_server: Annotated[
        list[str] | None,
        typer.Option("--api-server", metavar="CIDR", help="Only from there may the report be asked for (10.0.0.1/32)."),
    ] = None,
    output: Output = Form.YAML,
    kubernetes: options.Kubernetes = None,
) -> int:
    """A read-only DaemonSet that serves what dractl discover sees on every node, for dractl diagnose hardware."""
    from dractl.generate.nodeagent import node_agent as make

    made = make(name, namespace, image, interval, api_server or ())
    return finish(made, open_fleet(None, False, None, None, kubernetes, False), output)


register(app)
