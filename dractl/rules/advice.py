"""DRA1xx: manifests that are accepted but will not do what is wanted: advice, versions, feature gates."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

# --- references -----------------------------------------------------------------------------------------------------

CLASS_NOT_HERE = Rule(
    "DRA101",
    "class-not-here",
    "A DeviceClass that is not among the manifests",
    _WARNING,
    cause="The API server accepts any class name; the scheduler stops at a class that does not exist. Reported where "
    "the manifests define a class of a similar name, or where `--complete` says that they are all there is.",
    fix="Correct the name, add the class, or check against the cluster with `--snapshot` or `--context`.",
    example="deviceClassName: gpu.nvidia.con",
)
TEMPLATE_NOT_HERE = Rule(
    "DRA102",
    "template-not-here",
    "A ResourceClaimTemplate that is not there for this pod",
    _WARNING,
    cause="A pod names a template of its own namespace. If it does not exist, the pod waits with "
    "`resourceclaimtemplate "
    '"..." not found`; the API server does not look.',
    fix="Correct the name or the namespace of the template, or add it.",
    example="resourceClaimTemplateName: one-gpuu",
)
CLAIM_NOT_HERE = Rule(
    "DRA103",
    "claim-not-here",
    "A ResourceClaim that is not there for this pod",
    _WARNING,
    cause="A pod names a claim of its own namespace. If it does not exist, the pod waits; the API server does not "
    "look.",
    fix="Correct the name or the namespace of the claim, or add it.",
)
REQUEST_NOT_IN_CLAIM = Rule(
    "DRA104",
    "request-not-in-claim",
    "A container names a request that its claim does not have",
    _WARNING,
    cause="The API server does not compare the two. The kubelet then gives the container no device of the claim. "
    "Alternatives of firstAvailable cannot be named, only the request around them.",
    fix="Name a request of the claim, or leave `request` out to get all of its devices.",
    example="claims: [{name: gpu, request: gpus}]",
    reference="core/v1 ResourceClaim.request",
)
CLAIM_NOT_USED = Rule(
    "DRA105",
    "claim-not-used",
    "A pod's claim that no container uses",
    _WARNING,
    cause="The devices are allocated, reserved and prepared, and no container sees them.",
    fix="Add the claim to `resources.claims` of the container that needs it, or remove it from the pod.",
    reference="core/v1 PodSpec.resourceClaims",
)
TEMPLATE_ELSEWHERE = Rule(
    "DRA106",
    "other-namespace",
    "A claim or template that is only in another namespace",
    _WARNING,
    cause="Claims and templates are found in the namespace of the pod only.",
    fix="Put both into one namespace.",
)

ONE_CLAIM_FOR_ALL = Rule(
    "DRA107",
    "one-claim-for-all-replicas",
    "Several pods of a workload that share one claim",
    _INFO,
    cause="resourceClaimName names one claim, and all pods of the workload share its devices: they can run only on the "
    "node where it is allocated. Pods that want devices of their own need a template.",
    fix="Use resourceClaimTemplateName, unless the pods are to share the devices.",
)

# --- requests -------------------------------------------------------------------------------------------------------

TOO_MANY_DEVICES = Rule(
    "DRA110",
    "too-many-devices",
    "More devices than a claim can hold",
    _ERROR,
    cause="An allocation has at most 32 results. The API server accepts any count; the scheduler then gives up with "
    "`number of requested devices N exceeds the claim limit of 32`. With firstAvailable the smallest alternative "
    "counts.",
    fix="Ask for 32 at most; use several claims for more.",
    example="count: 64",
    reference="resource.k8s.io/v1 AllocationResultsMaxSize",
)
UNPUBLISHED = Rule(
    "DRA111",
    "unpublished-name",
    "An attribute or capacity that the driver does not publish",
    _WARNING,
    cause="A selector that reads it fails on every device (`no such key`), and one failure ends the scheduling "
    "attempt; a constraint on it refuses every device. The list of names is that of the driver's releases known to "
    "dractl.",
    fix="Use a name that the driver publishes (`dractl get devices` shows them), or ask first whether it is there.",
    example='device.attributes["gpu.nvidia.com"].index == 0',
)
TWO_CONSTRAINTS = Rule(
    "DRA112",
    "two-constraints-in-one",
    "matchAttribute and distinctAttribute in one entry",
    _WARNING,
    cause="The API server accepts both and the allocator looks at matchAttribute only.",
    fix="Write two entries of constraints.",
)
NEVER_MATCHES = Rule(
    "DRA113",
    "constraint-never-holds",
    "A constraint that devices of these classes can never satisfy together",
    _WARNING,
    cause="matchAttribute needs the same fully qualified name and the same type on every device. An attribute that one "
    "of the drivers does not publish refuses all its devices; an int never equals a string, nor a list one value.",
    fix="Use an attribute that all drivers of the claim publish in the same form, such as "
    "`resource.kubernetes.io/pcieRoot`; or leave one request out of the constraint.",
    example="matchAttribute: resource.kubernetes.io/numaNode   # with gpu.nvidia.com up to 0.4.1",
)
CAPACITY_KEY = Rule(
    "DRA114",
    "capacity-request-key",
    "A capacity request that no device can serve",
    _WARNING,
    cause="capacity.requests is compared with the keys of the slice letter by letter: `memory` and "
    "`gpu.example.com/memory` are two things. A key that a device does not have rules the device out. Neither keys "
    "nor values are checked by the API server; zero and negative amounts are accepted.",
    fix="Write the key exactly as the driver publishes it and an amount above zero.",
    example="capacity: {requests: {gpu.example.com/memory: 10Gi}}   # published as memory",
)
EMPTY_CLAIM = Rule(
    "DRA115",
    "empty-claim",
    "A claim without requests",
    _WARNING,
    cause="It is valid: it is allocated at once, the pod starts, and there is no device in it.",
    fix="Add an entry to spec.devices.requests.",
)
SHARES_BY_COUNT = Rule(
    "DRA117",
    "count-and-capacity",
    "A count beside an amount of capacity",
    _INFO,
    cause="capacity.requests is what is taken of each device, and count is a number of devices: `count: 3` with 10Gi "
    "asks for three different devices with 10Gi of each, not for three shares of one.",
    fix="Write one request for each share, or a larger amount in one request.",
    example="count: 3\ncapacity: {requests: {memory: 10Gi}}",
    reference="resource.k8s.io/v1 ExactDeviceRequest.capacity",
)
SHARED_COUNT = Rule(
    "DRA116",
    "all-devices",
    "allocationMode All takes what others need",
    _INFO,
    cause="All asks for every device that matches on the node; one of them in use, tainted or in a pool that is being "
    "updated makes the whole node impossible, and quota counts it as 32 devices.",
    fix="Ask for a number with ExactCount unless the whole node is meant.",
)

# --- selectors ------------------------------------------------------------------------------------------------------

NO_DRIVER_GUARD = Rule(
    "DRA120",
    "no-driver-guard",
    "A selector that reads an attribute of one driver on devices of any driver",
    _WARNING,
    cause="A class's selectors are evaluated on all devices of a node. On a device of another driver the attribute "
    "does not exist, which is an error and not false; the scheduler then gives up on the pod.",
    fix='Put `device.driver == "DRIVER" &&` in front, or `"name" in device.attributes["DRIVER"] &&`.',
    example='device.attributes["gpu.example.com"].type == "gpu"',
)
WRONG_VALUE_TYPE = Rule(
    "DRA121",
    "value-type",
    "A comparison with a type that the driver does not publish",
    _WARNING,
    cause="It compiles, as the types of attributes are not known to the API server, and fails on every device: a "
    "version is not a string, an int not a text.",
    fix="Compare versions with `semver()`, ints with numbers, strings with texts.",
    example='device.attributes["gpu.nvidia.com"].driverVersion == "580.105.8"',
)
NOMINAL_MEMORY = Rule(
    "DRA122",
    "nominal-memory",
    "A memory size that the product does not quite have",
    _WARNING,
    cause="Drivers publish the memory that can be used, which is below the number on the box: an H100 80GB has 81559Mi "
    "(79.65Gi), an H200 140.4Gi, an L4 22.49Gi. `>= 80Gi` leaves the H100 out.",
    fix="Ask for a little less: 79Gi, 140Gi, 22Gi.",
    example='device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0',
)
LABEL_SPELLING = Rule(
    "DRA123",
    "label-spelling",
    "A product name in the spelling of a node label",
    _WARNING,
    cause="Labels cannot hold blanks, so GPU feature discovery writes dashes; the driver publishes the product's own "
    "name with blanks.",
    fix="Write the name with blanks, as `dractl get devices -o wide` shows it.",
    example="productName == 'NVIDIA-A100-SXM4-80GB'",
)
ATTRIBUTE_OR_CAPACITY = Rule(
    "DRA124",
    "attribute-or-capacity",
    "A capacity read as an attribute, or the other way round",
    _WARNING,
    cause="`device.attributes` and `device.capacity` are two maps. The name is in the other one, so the expression "
    "fails on every device.",
    fix="Read it from the map that has it.",
    example='device.attributes["gpu.nvidia.com"].memory',
)
OTHER_DRIVER = Rule(
    "DRA125",
    "selector-against-class",
    "A request's selector for a driver that its class leaves out",
    _WARNING,
    cause="Class and request have to match both; if the class asks for one driver and the request for another, no "
    "device is left.",
    fix="Use the class of that driver, or correct the selector.",
)

BAD_CONSTANT = Rule(
    "DRA126",
    "bad-constant",
    "A text in quantity() or semver() that is none",
    _WARNING,
    cause="The expression compiles, as texts are only looked at when it runs, and then fails on every device; the "
    "scheduler gives up on the pod.",
    fix="Write a quantity (`40Gi`, not `40GB`) or three numbers for a version (`1.2.0`, not `1.2` or `v1.2.0`).",
    example='device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40GB"))',
)

# --- configuration --------------------------------------------------------------------------------------------------

CONFIG_DRIVER = Rule(
    "DRA130",
    "config-for-other-driver",
    "Configuration for a driver that these requests cannot get a device from",
    _WARNING,
    cause="The configuration is handed to the named driver only. If no device of that driver is allocated, it has no "
    "effect and nobody says so.",
    fix="Correct opaque.driver, or the list of requests.",
)
DRIVER_GATE = Rule(
    "DRA131",
    "driver-feature-gate",
    "Configuration that the driver only takes with a feature gate of its own",
    _WARNING,
    cause="The API server does not look into opaque parameters and the scheduler ignores them. The driver refuses them "
    "when the device is prepared, and the pod stays in ContainerCreating.",
    fix="Switch the gate on in the driver's chart, or take the configuration out.",
    example="sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}   # gate TimeSlicingSettings",
    reference="kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates",
)
CONFIG_CONTENT = Rule(
    "DRA132",
    "config-content",
    "Opaque parameters that the driver does not understand",
    _WARNING,
    cause="The driver decodes its parameters strictly when the device is prepared; kind, fields and values have to be "
    "its own.",
    fix="Correct the parameters by the driver's documentation.",
)

# --- tolerations, admin access --------------------------------------------------------------------------------------

NO_EXECUTE = Rule(
    "DRA140",
    "eviction-not-tolerated",
    "A toleration that does not keep the pod when a NoExecute taint appears",
    _WARNING,
    cause="A toleration without an effect lets the claim be allocated on any taint of that key, but the eviction "
    "controller only honours tolerations that name the effect NoExecute.",
    fix="Add an entry with `effect: NoExecute` (and tolerationSeconds for a limited time).",
)
TOLERATION_SECONDS = Rule(
    "DRA141",
    "toleration-seconds",
    "tolerationSeconds without effect NoExecute",
    _WARNING,
    cause="It is accepted and ignored: only eviction has a time.",
    fix="Set `effect: NoExecute`, or leave tolerationSeconds out.",
)
MANY_TOLERATIONS = Rule(
    "DRA142",
    "many-tolerations",
    "More tolerations than documented",
    _WARNING,
    cause="The API documents at most 16 for a request; 1.36 does not enforce it and a later release may.",
    fix="Leave some out; `operator: Exists` without a key covers all.",
)
EMPTY_KEY = Rule(
    "DRA143",
    "toleration-without-key",
    "A toleration with operator Equal and no key",
    _WARNING,
    cause="An empty key is documented for Exists only; with Equal it is accepted and compares the value with every "
    "taint's.",
    fix="Name the key, or use `operator: Exists`.",
)
ADMIN_NAMESPACE = Rule(
    "DRA144",
    "admin-access-namespace",
    "Admin access needs a label on the namespace",
    _INFO,
    cause="The API server refuses adminAccess unless the namespace is labelled "
    '`resource.kubernetes.io/admin-access: "true"`. The namespace is not part of the input.',
    fix="Check with `kubectl get namespace NS --show-labels`.",
    reference="KEP-5018",
)

# --- slices, rules, classes, names ----------------------------------------------------------------------------------

UNKNOWN_COUNTER = Rule(
    "DRA150",
    "unknown-counter",
    "A device consumes a counter that its pool does not have",
    _ERROR,
    cause="The API server does not compare them. The scheduler calls the whole pool invalid, for every node.",
    fix="Publish the counter set and counter in the same pool and generation, or correct the name.",
)
DUPLICATE_DEVICE = Rule(
    "DRA151",
    "device-twice-in-pool",
    "A device name that two slices of a pool use",
    _ERROR,
    cause="Names are unique in a pool, not only in a slice. The scheduler calls the pool invalid: `duplicate device "
    "name`.",
    fix="Give every device of the pool its own name.",
)
SLICE_COUNT = Rule(
    "DRA152",
    "slice-count",
    "resourceSliceCount is not the number of slices",
    _WARNING,
    cause="A pool counts as complete only when exactly that many slices of its newest generation are there. Until then "
    "none of its devices is used, and requests with allocationMode All fail for every node that sees it.",
    fix="Set the same, right number in all slices of the generation.",
)
SEVERAL_TERMS = Rule(
    "DRA153",
    "device-node-selector-terms",
    "A device's nodeSelector with several terms",
    _ERROR,
    cause="The API server checks the number of terms for slices only. For a device the scheduler fails when it is to "
    "be allocated.",
    fix="Use one term.",
)
ZERO_STEP = Rule(
    "DRA154",
    "zero-step",
    "A capacity range with step 0",
    _ERROR,
    cause="No check refuses it, and the server divides by it.",
    fix="Leave step out, or set it above zero.",
)
DEFAULT_TOO_LARGE = Rule(
    "DRA155",
    "default-over-capacity",
    "A default amount larger than the capacity",
    _WARNING,
    cause="With `default` alone the API server does not compare it with the value. A request that names no amount can "
    "then never be served.",
    fix="Set default to the capacity or below.",
)
FRACTION_STEP = Rule(
    "DRA159",
    "fraction-in-range",
    "A capacity range with fractions",
    _WARNING,
    cause="Before 1.37 the scheduler rounds min, step and amount up to whole numbers when it fits a request into a "
    "range, so that more is taken than asked for, or nothing fits.",
    fix="Use a unit in which all numbers are whole.",
    example="validRange: {min: 500m, step: 500m}",
)
ONE_POOL_NAME = Rule(
    "DRA168",
    "pool-name-of-two-drivers",
    "Pools of two drivers with one name, both with shared counters",
    _WARNING,
    cause="The scheduler remembers which counters are used up by the name of the pool alone, without the driver. "
    "Devices of one driver then count against the counters of the other.",
    fix="Give the pools different names, for instance with the driver in front of the node.",
)
BINDING_CONDITIONS = Rule(
    "DRA156",
    "binding-conditions",
    "Devices that pods have to wait for",
    _INFO,
    cause="A pod with such a device is only bound once every condition is set in the claim's status. If nothing sets "
    "them, it waits ten minutes and starts again elsewhere. The scheduler tries such pools last.",
    fix="Make sure that the controller that sets the conditions runs.",
    reference="KEP-5007",
)
THREE_PARTS = Rule(
    "DRA157",
    "three-part-name",
    "An attribute or capacity name with two slashes",
    _WARNING,
    cause="The API server does not check names of three parts; CEL reads everything before the first slash as the "
    "domain, so the attribute cannot be reached as meant.",
    fix="Use `domain/name`.",
)
UPPER_CASE = Rule(
    "DRA158",
    "upper-case-driver",
    "A driver name with upper case",
    _WARNING,
    cause="It is accepted, and compared letter by letter everywhere.",
    fix="Write driver names in lower case.",
)
TAINTS_EVERYTHING = Rule(
    "DRA160",
    "rule-without-selector",
    "A DeviceTaintRule without deviceSelector",
    _WARNING,
    cause="The documentation says that it matches no device, and the eviction controller does so; the scheduler of "
    "1.36 treats it like an empty selector and taints every device of the cluster.",
    fix="Set deviceSelector; `{}` for all devices, if that is meant.",
)
SAME_RESOURCE = Rule(
    "DRA161",
    "same-extended-resource",
    "Two classes with one extended resource name",
    _WARNING,
    cause="Only one of them serves the resource: the one created last, and by name if they are of one age.",
    fix="Give one class the name.",
)
LONG_CLASS_NAME = Rule(
    "DRA162",
    "long-class-name",
    "A class name too long for quota or extended resources",
    _INFO,
    cause="Quota uses `<class>.deviceclass.resource.k8s.io/devices` and pods may use "
    "`deviceclass.resource.kubernetes.io/<class>`; the second takes 63 characters at most.",
    fix="Use a shorter name.",
)
NAME_CUT = Rule(
    "DRA163",
    "generated-name-cut",
    "Names that are cut in the generated claim's name",
    _INFO,
    cause="A generated claim is called `<pod>-<entry>-<random>`, and pod and entry are cut so that both fit into 57 "
    "characters.",
    fix="Find the claim by the pod's status or the owner, or use shorter names.",
)
STATUS_IGNORED = Rule(
    "DRA164",
    "status-ignored",
    "status in a manifest",
    _INFO,
    cause="The server throws status away when an object is made.",
    fix="Leave it out.",
)

ROLE_WORDS = Rule(
    "DRA165",
    "role-grants-nothing",
    "A rule of a role that names no resource of resource.k8s.io",
    _WARNING,
    cause="A role may name groups and resources that do not exist; such a rule grants nothing and nobody says so. "
    "Groups stand without version, resources in the plural and in lower case.",
    example='apiGroups: ["resource.k8s.io/v1"]',
    fix='`apiGroups: ["resource.k8s.io"]`, `resources: ["resourceclaims", "resourceslices"]`.',
)
DRIVER_ROLE = Rule(
    "DRA166",
    "driver-role-of-before",
    "A driver's role from before 1.36",
    _WARNING,
    cause="Since 1.36 writing status.devices of a claim also takes `associated-node:update` or `associated-node:patch` "
    "on resourceclaims/driver.",
    fix="Add the rule for resourceclaims/driver with the driver's name under resourceNames.",
    reference="KEP-4817",
)
QUOTA_KEY = Rule(
    "DRA167",
    "quota-counts-nothing",
    "A quota for a resource that nobody counts",
    _WARNING,
    cause="A ResourceQuota takes any well formed name. Claims are counted as count/resourceclaims.resource.k8s.io, "
    "devices as CLASS.deviceclass.resource.k8s.io/devices.",
    fix="Write the name as it is counted.",
)

# --- releases and gates ---------------------------------------------------------------------------------------------

DROPPED_FIELD = Rule(
    "DRA170",
    "field-dropped",
    "A field that is silently dropped because its feature gate is off",
    _WARNING,
    cause="The API server of that release stores the object without the field and says nothing.",
    fix="Switch the gate on (in the API server, scheduler, controller manager and kubelets that use it), move to a "
    "release that has it on, or do without the field.",
    reference="https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/",
)
GATE_REFUSES = Rule(
    "DRA171",
    "gate-off-refused",
    "An object that is refused because a feature gate is off",
    _ERROR,
    cause="The API server drops the field of the gate first, and what is left is not valid.",
    fix="Switch the gate on, move to a release that has it on, or do without the field.",
)
NEWER_FIELD = Rule(
    "DRA172",
    "field-of-a-later-release",
    "A field that the release does not know yet",
    _ERROR,
    cause="A strict server refuses it as unknown, another drops it.",
    fix="Leave it out for this release, or move to one that has it.",
)
EXTENDED_BY_CLASS = Rule(
    "DRA173",
    "extended-resource-without-gate",
    "A pod's extended resource that only a class would serve",
    _WARNING,
    cause="With DRAExtendedResource off nothing ties the resource to the class; the pod waits for a node that offers "
    "it through a device plugin.",
    fix="Switch the gate on, move to 1.36, or use a claim.",
)

# --- the fleet ------------------------------------------------------------------------------------------------------

FITS_NOWHERE = Rule(
    "DRA190",
    "fits-on-too-few-nodes",
    "A claim that does not fit on as many nodes as asked for",
    _ERROR,
    cause="The allocator was run for this claim on every node of the snapshot, with what is in use there.",
    fix="See why with `dractl simulate -f FILE --snapshot SNAPSHOT`.",
)
FLEET_NOTE = Rule(
    "DRA191",
    "fits-nowhere-now",
    "A claim that fits on no node as the fleet is now",
    _WARNING,
    cause="The allocator was run for this claim on every node of the snapshot. With `--require-fit` this is an error.",
    fix="See why with `dractl simulate -f FILE --snapshot SNAPSHOT`.",
)

RULES: tuple[Rule, ...] = (
    CLASS_NOT_HERE,
    TEMPLATE_NOT_HERE,
    CLAIM_NOT_HERE,
    REQUEST_NOT_IN_CLAIM,
    CLAIM_NOT_USED,
    TEMPLATE_ELSEWHERE,
    ONE_CLAIM_FOR_ALL,
    TOO_MANY_DEVICES,
    UNPUBLISHED,
    TWO_CONSTRAINTS,
    NEVER_MATCHES,
    CAPACITY_KEY,
    EMPTY_CLAIM,
    SHARED_COUNT,
    SHARES_BY_COUNT,
    NO_DRIVER_GUARD,
    WRONG_VALUE_TYPE,
    NOMINAL_MEMORY,
    LABEL_SPELLING,
    ATTRIBUTE_OR_CAPACITY,
    OTHER_DRIVER,
    BAD_CONSTANT,
    CONFIG_DRIVER,
    DRIVER_GATE,
    CONFIG_CONTENT,
    NO_EXECUTE,
    TOLERATION_SECONDS,
    MANY_TOLERATIONS,
    EMPTY_KEY,
    ADMIN_NAMESPACE,
    UNKNOWN_COUNTER,
    DUPLICATE_DEVICE,
    SLICE_COUNT,
    SEVERAL_TERMS,
    ZERO_STEP,
    DEFAULT_TOO_LARGE,
    FRACTION_STEP,
    ONE_POOL_NAME,
    BINDING_CONDITIONS,
    THREE_PARTS,
    UPPER_CASE,
    TAINTS_EVERYTHING,
    SAME_RESOURCE,
    LONG_CLASS_NAME,
    NAME_CUT,
    STATUS_IGNORED,
    ROLE_WORDS,
    DRIVER_ROLE,
    QUOTA_KEY,
    DROPPED_FIELD,
    GATE_REFUSES,
    NEWER_FIELD,
    EXTENDED_BY_CLASS,
    FITS_NOWHERE,
    FLEET_NOTE,
)
