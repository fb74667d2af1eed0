"""Every check of ``dractl diagnose``, in the order in which categories are shown."""

from __future__ import annotations

from dractl.diagnose import access as who
from dractl.diagnose import conflicts as claims
from dractl.diagnose import devices, health, life, versions
from dractl.diagnose import hardware as hosts
from dractl.diagnose import publication as pools
from dractl.diagnose import topology as wiring
from dractl.diagnose.check import Check
from dractl.rules import access, allocation, conflicts, hardware, lifecycle, publication, scheduler, topology

CHECKS: tuple[Check, ...] = (
    Check(conflicts.CLAIM_PENDING, "conflicts", claims.pending_claims),
    Check(lifecycle.TEMPLATE_MISSING, "conflicts", life.templates_missing),
    Check(lifecycle.CLAIM_MISSING, "conflicts", life.claims_missing),
    Check(allocation.UNKNOWN_CLASS, "conflicts", life.classes_missing),
    Check(lifecycle.QUOTA, "conflicts", life.quotas_refusing),
    Check(lifecycle.ADMIN_LABEL, "conflicts", life.labels_missing),
    Check(lifecycle.CREATION_REFUSED, "conflicts", life.creations_refused),
    Check(lifecycle.PLACED_PAST_SCHEDULER, "conflicts", life.placed_past_scheduler),
    Check(conflicts.CLAIMS_COMPETE, "conflicts", claims.claims_competing),
    Check(lifecycle.FOREIGN_CLAIM, "conflicts", life.foreign_claims),
    Check(lifecycle.ALLOCATED_ELSEWHERE, "conflicts", life.allocated_elsewhere),
    Check(conflicts.DEVICE_HELD_TWICE, "conflicts", claims.held_twice),
    Check(conflicts.WHOLE_AND_PART_HELD, "conflicts", claims.whole_and_part),
    Check(conflicts.COUNTERS_OVERDRAWN, "conflicts", claims.counters_overdrawn),
    Check(conflicts.CAPACITY_OVERDRAWN, "conflicts", claims.capacity_overdrawn),
    Check(conflicts.DEVICE_GONE, "conflicts", claims.devices_gone),
    Check(conflicts.OFFERED_TWICE, "conflicts", claims.offered_twice),
    Check(allocation.CLASS_SHADOWED, "conflicts", claims.shadowed_classes),
    Check(lifecycle.STALE_HOLDER, "conflicts", life.stale_holders),
    Check(lifecycle.UNUSED_CLAIM, "conflicts", life.claims_without_pod),
    Check(lifecycle.CLAIM_DELETING, "conflicts", life.claims_deleting),
    Check(conflicts.PRIORITY_INVERSION, "conflicts", claims.priority_inversions),
    Check(conflicts.QUOTA_EXHAUSTED, "conflicts", claims.quotas_exhausted),
    Check(topology.ALLOCATED_ACROSS_ROOTS, "topology", wiring.allocated_across_roots),
    Check(topology.CPU_ON_OTHER_NUMA, "topology", wiring.cpus_elsewhere),
    Check(topology.DISJOINT_ROOTS, "topology", wiring.roots_disjoint),
    Check(topology.ATTRIBUTE_NAMES_DIFFER, "topology", wiring.names_differ),
    Check(allocation.CONSTRAINT_ATTRIBUTE_MISSING, "topology", pools.constraints_without_attribute),
    Check(topology.FRAGMENTED, "topology", wiring.fragmented),
    Check(publication.POOL_INCOMPLETE, "publication", pools.pools_incomplete),
    Check(allocation.SHARED_DEVICE_NAME, "publication", pools.names_shared),
    Check(publication.POOL_INVALID, "publication", pools.pools_invalid),
    Check(publication.STALE_SLICES, "publication", pools.slices_stale),
    Check(publication.SLICE_OF_UNKNOWN_NODE, "publication", pools.slices_of_unknown_nodes),
    Check(publication.SLICE_OF_UNREADY_NODE, "publication", pools.slices_of_unready_nodes),
    Check(publication.DRIVER_POD_TROUBLE, "publication", devices.driver_pods_in_trouble),
    Check(publication.NOTHING_PUBLISHED_THERE, "publication", devices.drivers_publishing_nothing),
    Check(publication.LOCAL_FOR_ALL, "publication", devices.local_devices_for_all),
    Check(publication.ATTRIBUTE_LOST, "publication", devices.attributes_lost),
    Check(publication.IDENTITY_TWICE, "publication", devices.identities_twice),
    Check(publication.CLASS_SELECTOR_ERROR, "publication", pools.classes_with_errors),
    Check(publication.CLASS_SELECTS_NOTHING, "publication", pools.classes_selecting_nothing),
    Check(publication.DEVICES_WITHOUT_CLASS, "publication", pools.devices_without_class),
    Check(publication.ATTRIBUTE_TYPE_DIFFERS, "publication", pools.attribute_types_differ),
    Check(publication.WHOLE_AND_PARTS, "publication", pools.wholes_beside_parts),
    Check(publication.DEVICE_NEVER_FITS, "publication", pools.devices_that_never_fit),
    Check(lifecycle.PREPARE_FAILED, "health", life.unprepared_pods),
    Check(lifecycle.DRIVER_KEEPS_CLAIM, "health", life.drivers_keeping_claims),
    Check(lifecycle.DRIVER_NOT_REGISTERED, "health", life.drivers_not_registered),
    Check(lifecycle.POD_TERMINATING, "health", life.pods_terminating),
    Check(publication.DEVICES_TAINTED, "health", health.devices_tainted),
    Check(publication.TAINT_RULE_ACTIVE, "health", health.taint_rules),
    Check(publication.DEVICE_CONDITION, "health", health.device_conditions),
    Check(publication.DEVICE_UNHEALTHY, "health", health.resources_unhealthy),
    Check(publication.BINDING_FAILED, "health", health.binding_failed),
    Check(access.DRIVER_LACKS_VERB, "access", who.drivers_without_verb),
    Check(access.SCHEDULER_LACKS_VERB, "access", who.schedulers_without_verb),
    Check(access.SLICES_OPEN, "access", who.slices_of_others),
    Check(access.ADMIN_ACCESS_OPEN, "access", who.admin_namespaces),
    Check(access.WILDCARD_ROLE, "access", who.wildcard_roles),
    Check(scheduler.TAINT_RULES_IGNORED, "versions", health.taint_rules_ignored),
    Check(scheduler.COUNTERS_LEAK, "versions", versions.counters_leak),
    Check(scheduler.GATE_OFF, "versions", versions.gates_off),
    Check(scheduler.OLD_API_VERSION, "versions", versions.old_versions),
    Check(scheduler.KUBELET_SKEW, "versions", versions.kubelets_older),
    *(
        Check(rule, "hardware", hosts.of(rule))
        for rule in (
            hardware.PUBLISHED_WITHOUT_HARDWARE,
            hardware.MIG_DRIFT,
            hardware.VFIO_PUBLISHED,
            hardware.DEGRADED_PUBLISHED,
            hardware.NOT_PUBLISHED,
            hardware.ATTRIBUTE_DIFFERS,
            hardware.NO_SLICES,
        )
    ),
    Check(hardware.FAULT_ON_NODE, "hardware", hosts.faults_on_nodes),
    Check(hardware.NO_NODE_REPORT, "hardware", hosts.nodes_without_report),
)
