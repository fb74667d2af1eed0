"""DRA0xx: manifests that cannot be read or that the API server refuses: structure and the server's own rules."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

# --- reading --------------------------------------------------------------------------------------------------------

UNREADABLE = Rule(
    "DRA001",
    "unreadable-input",
    "A file or folder cannot be read",
    _ERROR,
    cause="The path does not exist, a pattern matches nothing, a link points nowhere, the permission is missing, or "
    "there is no object in all that was named: a program that failed left nothing on standard input, a folder has no "
    "manifest. Nothing is said about what should have been there.",
    fix="Correct the path, give the permission, or see why the input is empty.",
)
NOT_TEXT = Rule(
    "DRA002",
    "not-text",
    "The file is not UTF-8 text",
    _ERROR,
    cause="Manifests are UTF-8. Windows PowerShell writes UTF-16 when output is redirected with `>`; other editors may "
    "have written a legacy code page; or the file is no manifest at all.",
    fix="Save the file as UTF-8 (PowerShell: `| Out-File -Encoding utf8`), or leave it out.",
)
YAML_SYNTAX = Rule(
    "DRA003",
    "yaml-syntax",
    "The text is not valid YAML",
    _ERROR,
    cause="kubectl and every other tool stop here. Usual reasons: a tab in the indentation, a colon inside an unquoted "
    "text, a quote or bracket that is not closed, lines of one list indented differently.",
    fix="Correct the line; quote texts with special characters.",
    example='expression: device.driver == "a": true',
    reference="YAML 1.1, read as kubectl does (sigs.k8s.io/yaml)",
)
JSON_SYNTAX = Rule(
    "DRA004",
    "json-syntax",
    "The text is not valid JSON",
    _ERROR,
    cause="A comma too many or too few, a quote that is not closed, a comment, or a value such as NaN.",
    fix="Correct the line.",
    example='{"kind": "ResourceClaim",}',
)
REPEATED_KEY = Rule(
    "DRA005",
    "repeated-key",
    "A key is written twice in one mapping",
    _ERROR,
    cause="kubectl keeps the last one of a YAML mapping without a word; the API server refuses JSON that has a field "
    "twice (`duplicate field`). Either way one of the two was not meant.",
    fix="Remove one; for two list entries write a list.",
    example="requests:\n- name: gpu\n  name: nic",
)
ALIASES = Rule(
    "DRA006",
    "bad-alias",
    "An anchor or alias that cannot be followed",
    _ERROR,
    cause="The alias has no anchor before it, an anchor contains itself, or aliases multiply until the document is "
    "out of all proportion (`document contains excessive aliasing`): kubectl refuses all three.",
    fix="Define the anchor first, or write the value out.",
    example="a: &a [*a]",
)
TOO_DEEP = Rule(
    "DRA007",
    "too-deep",
    "The document is nested too deeply",
    _ERROR,
    cause="No Kubernetes object of this group is nested deeper than about 30 levels; dractl follows 200.",
    fix="Check what has produced the file.",
)
NOT_AN_OBJECT = Rule(
    "DRA008",
    "not-an-object",
    "The document is not a Kubernetes object",
    _ERROR,
    cause="An object is a mapping with `apiVersion` and `kind`. kubectl says `Object 'Kind' is missing`.",
    fix="Add `apiVersion` and `kind`, or leave the file out.",
)
TEMPLATE_TEXT = Rule(
    "DRA009",
    "not-rendered",
    "The file is a template that has not been rendered",
    _ERROR,
    cause="Text in `{{ }}` is for Helm (or another template engine) and no YAML.",
    fix="Check what the chart makes: `helm template CHART | dractl validate -` (`kubectl kustomize DIR | ...`).",
    example="name: {{ .Values.name }}",
)

READING: tuple[Rule, ...] = (UNREADABLE, NOT_TEXT, YAML_SYNTAX, JSON_SYNTAX, ALIASES, TOO_DEEP, TEMPLATE_TEXT)
"""What ends with exit code 2: of some input nothing can be said."""

# --- structure ------------------------------------------------------------------------------------------------------

UNKNOWN_FIELD = Rule(
    "DRA010",
    "unknown-field",
    "A field that this kind does not have",
    _ERROR,
    cause="With strict field validation (kubectl's default) the object is refused: `strict decoding error: unknown "
    'field "..."`. Without it (`--validate=false`, most controllers) the field is dropped and the rest is stored. '
    "Usual reasons: wrong indentation, a misspelt name, the shape of another API version.",
    fix="Correct the name or the indentation, or move the value to where it belongs.",
    example="selectors:\n- cel:\n  expression: device.driver == 'gpu.example.com'   # two blanks too few",
    reference="kubectl --validate=strict; fieldValidation of the API",
)
WRONG_TYPE = Rule(
    "DRA011",
    "wrong-type",
    "A value of the wrong type",
    _ERROR,
    cause="The server cannot decode the object (400 Bad Request). YAML often decides otherwise than meant: `yes`, "
    "`on` and `y` are booleans, `1.0` and `010` numbers; lists need a dash.",
    fix="Write the type that the field has; quote texts that look like something else.",
    example="count: '2'",
)
UNKNOWN_KIND = Rule(
    "DRA012",
    "unknown-kind",
    "The API group has no such kind in this version",
    _ERROR,
    cause="The server answers `no matches for kind ... in version ...` (404).",
    fix="Correct kind or apiVersion.",
    example="kind: ResourceClaims",
)
UNKNOWN_VERSION = Rule(
    "DRA013",
    "unknown-version",
    "resource.k8s.io never had this version",
    _ERROR,
    cause="Versions were v1alpha1 (1.26), v1alpha2 (1.27 to 1.30), v1alpha3 (since 1.31), v1beta1 (1.32), v1beta2 "
    "(1.33) and v1 (1.34).",
    fix="Write `apiVersion: resource.k8s.io/v1`.",
    example="apiVersion: resource.k8s.io/v2",
)
REMOVED_VERSION = Rule(
    "DRA014",
    "removed-version",
    "A version or kind that has been removed",
    _ERROR,
    cause="Alpha versions end without notice: v1alpha1 with 1.27, v1alpha2 with 1.31, most of v1alpha3 with 1.34. No "
    "later server accepts them, and their idea of a claim (a class and a reference to parameters) is not that of "
    "today, where a claim lists requests for devices that drivers publish.",
    fix="Convert the manifest: `dractl convert FILE`; check what the conversion could only propose.",
    example="apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass",
    reference="KEP-3063 (classic DRA, withdrawn) and KEP-4381 (structured parameters)",
)
NOT_SERVED = Rule(
    "DRA015",
    "version-not-served",
    "The release does not serve this version unless it is switched on",
    _ERROR,
    cause="Beta and alpha versions are off until the API server is started with `--runtime-config=resource.k8s.io/"
    "VERSION=true`. With default settings kubectl and Helm answer `no matches for kind`.",
    fix="Use the version that is served by default (v1 since 1.34), or switch the version on.",
    example="apiVersion: resource.k8s.io/v1beta1   # on 1.34",
    reference="KEP-3136: beta APIs are off by default",
)
BAD_QUANTITY = Rule(
    "DRA016",
    "bad-quantity",
    "A text that is not a quantity",
    _ERROR,
    cause="A quantity is a number with an optional suffix (Ki, Mi, Gi... or k, M, G..., m) and no blank. The server "
    "cannot even decode the object and says nothing about its other faults.",
    fix="Write it without blanks and with a suffix that exists: `144Gi`.",
    example="value: 144 Gi",
    reference="k8s.io/apimachinery resource.Quantity",
)

# --- the server's rules ---------------------------------------------------------------------------------------------

REQUIRED = Rule(
    "DRA020",
    "required-field",
    "A field that has to be set is missing",
    _ERROR,
    cause="The API server refuses the object (422, `Required value`).",
    fix="Add the field.",
)
INVALID = Rule(
    "DRA021",
    "invalid-value",
    "A value that the API server does not accept",
    _ERROR,
    cause="The API server refuses the object (422, `Invalid value`).",
    fix="Correct the value as the message says.",
)
NOT_SUPPORTED = Rule(
    "DRA022",
    "unsupported-value",
    "A value outside the list of allowed ones",
    _ERROR,
    cause="The field takes a fixed set of words, in exactly this spelling (422, `Unsupported value`).",
    fix="Use one of the values listed.",
    example="allocationMode: exactcount",
)
DUPLICATE = Rule(
    "DRA023",
    "duplicate-value",
    "Two list entries with the same name",
    _ERROR,
    cause="Names in this list have to be unique (422, `Duplicate value`).",
    fix="Rename or remove one.",
)
TOO_LONG = Rule(
    "DRA024",
    "too-long",
    "A text or list that is longer than allowed",
    _ERROR,
    cause="The API server limits it (422, `Too long` in bytes, `Too many` in entries), so that objects stay small "
    "enough for every scheduler and kubelet. One entry too long refuses the whole object.",
    fix="Shorten it; move what is too much into another object.",
)
FORBIDDEN = Rule(
    "DRA025",
    "forbidden-field",
    "A field that may not be set here",
    _ERROR,
    cause="The API server refuses the combination (422, `Forbidden`).",
    fix="Remove the field, or set what it depends on.",
)
NOT_FOUND = Rule(
    "DRA026",
    "undefined-reference",
    "A reference to something that the object does not have",
    _ERROR,
    cause="A container, constraint or config names an entry that is not in the same object (422).",
    fix="Correct the name, or add the entry.",
    example="containers[].resources.claims[].name: gpus   # spec.resourceClaims has gpu",
)
IMMUTABLE = Rule(
    "DRA027",
    "immutable-field",
    "A change of a field that cannot be changed",
    _ERROR,
    cause="The specs of claims and templates, and driver, pool and node of a slice, are fixed when they are made "
    "(422, `field is immutable`); of a pod nearly all, its resourceClaims too.",
    fix="Delete the object and make it anew, or give the new one another name.",
)
CEL_COMPILE = Rule(
    "DRA030",
    "cel-error",
    "A CEL expression that does not compile",
    _ERROR,
    cause="The API server compiles selectors when the object is made and refuses what has wrong syntax, names or "
    "types. Capacities are quantities and versions are semvers: they are compared with methods, not with operators.",
    fix='Correct the expression; for capacities `.compareTo(quantity("40Gi")) >= 0`, for versions '
    '`.isGreaterThan(semver("1.2.3"))`.',
    example='device.capacity["gpu.example.com"].memory > "40Gi"',
    reference="https://kubernetes.io/docs/reference/using-api/cel/",
)
CEL_COST = Rule(
    "DRA031",
    "cel-too-expensive",
    "A CEL expression whose estimated cost is over the limit",
    _ERROR,
    cause="The API server estimates the worst case before anything runs (1,000,000 units). Loops over parts of an "
    "attribute's text are dear, as the number of parts is unknown and each function inside is counted for each.",
    fix="Take the work out of the loop, or match the whole text once with a regular expression.",
    example='x.split(";").map(s, s.trim()).exists_one(s, s == "asym")',
    reference="resource.k8s.io/v1 CELSelectorExpressionMaxCost",
)
BAD_NAME = Rule(
    "DRA032",
    "bad-name",
    "A name that is not well formed",
    _ERROR,
    cause="Objects, requests, devices and drivers have names of lower-case letters, digits and dashes (and dots where "
    "the message says subdomain).",
    fix="Use lower-case letters, digits and `-`; start and end with a letter or digit.",
    example="name: My_GPU",
)
ONE_OF = Rule(
    "DRA033",
    "exactly-one-of",
    "None or several of fields of which exactly one has to be set",
    _ERROR,
    cause="A request is `exactly` or `firstAvailable`, a slice belongs to one node, a selector, all nodes or to each "
    "device, an attribute has one value, a pod's claim comes from a claim or from a template.",
    fix="Set exactly one.",
)
BAD_VERSION_VALUE = Rule(
    "DRA034",
    "not-a-semver",
    "A version attribute that is not a semantic version",
    _ERROR,
    cause="`version` takes three numbers (semver.org 2.0.0: `1.2.3`, with `-pre` and `+build` if need be), no leading "
    "`v`, no leading zeros, no fourth part.",
    fix="Publish three parts as version and the full text as a string attribute beside it.",
    example="driverVersion: {version: 6.19.14.31400000}",
)
COUNTERS_AND_DEVICES = Rule(
    "DRA035",
    "counters-beside-devices",
    "A slice with shared counters and devices",
    _ERROR,
    cause="Since 1.35 a slice holds sharedCounters or devices, not both; 1.33 and 1.34 took both in one (with the gate "
    "DRAPartitionableDevices). A driver built for those publishes nothing on 1.35 and newer.",
    fix="Put the counters into a slice of their own in the same pool and generation, and count it in "
    "resourceSliceCount of all of them.",
    reference="resource.k8s.io/v1 ResourceSliceSpec.sharedCounters",
)
SELECTOR_LABELS = Rule(
    "DRA036",
    "selector-and-labels",
    "The selector does not fit the pod template's labels",
    _ERROR,
    cause="DaemonSets, Deployments and StatefulSets of apps/v1 need spec.selector, and it has to match the labels of "
    "their own template; otherwise they are refused.",
    fix="Give the template the labels that the selector asks for (the selector cannot be changed later).",
    example="selector: {matchLabels: {name: x}}   template: {metadata: {labels: {app: x}}}",
)
ADMIN_LABEL = Rule(
    "DRA037",
    "admin-access-unlabelled",
    "Admin access in a namespace without the label",
    _ERROR,
    cause="Requests with adminAccess are only accepted in namespaces labelled `resource.kubernetes.io/admin-access: "
    '"true"`; a namespace of this input lacks the label or has another value.',
    fix='Label the namespace: `kubectl label namespace NS resource.kubernetes.io/admin-access="true"`.',
    reference="KEP-5018",
)
OLD_CLAIM_SOURCE = Rule(
    "DRA038",
    "claim-source",
    "A pod's claim in the form before 1.31",
    _ERROR,
    cause="Up to 1.30 the name stood under `source:`; since 1.31 resourceClaimName or resourceClaimTemplateName stand "
    "directly beside `name`. A strict server refuses `source`; another drops it and then misses the reference.",
    fix="Take `source:` away and move what is below it up: `dractl validate --fix` or `dractl convert` does it.",
    example="resourceClaims:\n- name: gpu\n  source: {resourceClaimTemplateName: gpu}",
)
BAD_REQUEST = Rule(
    "DRA039",
    "refused",
    "The API server refuses the object",
    _ERROR,
    cause="The server answers with an error that names no field.",
    fix="Correct what the message says.",
)

RULES: tuple[Rule, ...] = (
    UNREADABLE,
    NOT_TEXT,
    YAML_SYNTAX,
    JSON_SYNTAX,
    REPEATED_KEY,
    ALIASES,
    TOO_DEEP,
    NOT_AN_OBJECT,
    TEMPLATE_TEXT,
    UNKNOWN_FIELD,
    WRONG_TYPE,
    UNKNOWN_KIND,
    UNKNOWN_VERSION,
    REMOVED_VERSION,
    NOT_SERVED,
    BAD_QUANTITY,
    REQUIRED,
    INVALID,
    NOT_SUPPORTED,
    DUPLICATE,
    TOO_LONG,
    FORBIDDEN,
    NOT_FOUND,
    IMMUTABLE,
    CEL_COMPILE,
    CEL_COST,
    BAD_NAME,
    ONE_OF,
    BAD_VERSION_VALUE,
    COUNTERS_AND_DEVICES,
    SELECTOR_LABELS,
    ADMIN_LABEL,
    OLD_CLAIM_SOURCE,
    BAD_REQUEST,
)
