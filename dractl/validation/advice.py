"""What the API server accepts and an expert would not: rules about one object on its own.

Rules that need a DeviceClass, or any other object, are in ``references``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.cel.environment import Environment
from dractl.kube import drivers
from dractl.kube.quantity import Quantity, QuantityError
from dractl.kube.semver import Semver
from dractl.rules import advice as rules
from dractl.rules import workloads
from dractl.rules.finding import Severity
from dractl.validation.model import (
    ClaimView,
    Fault,
    Json,
    Path,
    PodView,
    RequestView,
    at,
    claim_view,
    entries,
    listing,
    mapping,
    pod_views,
    text,
)
from dractl.validation.published import slice_advice
from dractl.validation.selectors import Comparison, Read, SelectorView, selector_view
from dractl.validation.settings import Settings

CLAIM_LIMIT = 32
TOLERATION_LIMIT = 16
NAME_LIMIT = 57
_MIB = 1024 * 1024
_NEAR = 0.03
"""A product whose memory is this little below the wanted amount was most likely meant."""


def advice(value: Json, settings: Settings, environment: Environment) -> list[Fault]:
    """All advice on one object."""
    kind = text(value.get("kind"))
    claim = claim_view(value)
    faults: list[Fault] = []
    if claim is not None:
        faults += _claim(claim, environment)
        if kind == "ResourceClaim" and mapping(value.get("status")):
            message = "the server throws status away when the claim is made"
            faults.append(Fault(rules.STATUS_IGNORED, message, ("status",), key=True))
    elif kind == "DeviceClass":
        faults += _class(value, environment)
    elif kind == "ResourceSlice":
        faults += slice_advice(value, settings)
    elif kind == "DeviceTaintRule":
        faults += _taint_rule(value, settings)
    else:
        for pod in pod_views(value):
            faults += _pod(pod, kind)
            faults += _shared(pod, kind, value)
    return faults


# --- claims ---------------------------------------------------------------------------------------------------------


def _claim(claim: ClaimView, environment: Environment) -> Iterator[Fault]:
    if not claim.requests and not listing(claim.devices.get("requests")):
        message = "the claim has no requests: it is allocated at once, the pod starts, and there is no device in it"
        yield Fault(rules.EMPTY_CLAIM, message, (*claim.path, "devices"))
    yield from _too_many(claim)
    for path, constraint in claim.constraints():
        if constraint.get("matchAttribute") and constraint.get("distinctAttribute"):
            message = "matchAttribute and distinctAttribute stand in one entry: the allocator looks at the first only"
            yield Fault(rules.TWO_CONSTRAINTS, message, (*path, "distinctAttribute"), key=True)
    for request in claim.requests:
        yield from _request(request, environment)
    for path, entry in claim.config():
        yield from config_faults(path, entry)
        yield from _config_kind(path, entry, claim)


def _too_many(claim: ClaimView) -> Iterator[Fault]:
    least: dict[str, int] = {}
    where: dict[str, RequestView] = {}
    for request in claim.requests:
        name = request.name.split("/")[0]
        count = request.count()
        if not request.alternative and count > CLAIM_LIMIT:
            message = f"request {name} asks for {count} devices; a claim holds {CLAIM_LIMIT} at most, so it never fits"
            yield Fault(rules.TOO_MANY_DEVICES, message, (*request.path, "count"))
            return
        if name not in least or count < least[name]:
            least[name], where[name] = count, request
    total = sum(least.values())
    if total > CLAIM_LIMIT:
        parts = " + ".join(str(count) for count in least.values())
        message = f"the requests ask for {parts} = {total} devices at least; a claim holds {CLAIM_LIMIT} at most"
        largest = max(least, key=lambda name: least[name])
        yield Fault(rules.TOO_MANY_DEVICES, message, (*where[largest].path, "count"))


def _request(request: RequestView, environment: Environment) -> Iterator[Fault]:
    for path, _, view in selectors_of(request.body, request.path, environment):
        yield from _selector(path, view)
    if request.body.get("allocationMode") == "All":
        message = f"request {request.name} asks for all matching devices of the node: one in use or tainted stops it"
        yield Fault(rules.SHARED_COUNT, message, (*request.path, "allocationMode"))
    yield from _tolerations(request)
    amounts = mapping(at(request.body, "capacity", "requests"))
    for key, amount in amounts.items():
        yield from _capacity_request(request, key, amount)
    if amounts and request.count() > 1:
        count = request.count()
        message = f"request {request.name} asks for {count} different devices and takes the amount of each of them"
        yield Fault(rules.SHARES_BY_COUNT, message, (*request.path, "count"), key=True)


def _capacity_request(request: RequestView, key: str, amount: Any) -> Iterator[Fault]:
    path = (*request.path, "capacity", "requests", key)
    try:
        quantity = Quantity.parse(str(amount))
    except QuantityError:
        return
    if quantity.nano <= 0:
        message = f"request {request.name} asks for {amount} of {key}: the API server accepts it, and it means nothing"
        yield Fault(rules.CAPACITY_KEY, message, path)
    domain, _, name = key.rpartition("/")
    driver = drivers.DRIVERS.get(domain)
    if driver is not None and key not in driver.capacities and name in driver.capacities:
        message = (
            f"request {request.name} asks for capacity {key}; {domain} publishes it as {name}, and the keys are "
            f"compared letter by letter"
        )
        yield Fault(rules.CAPACITY_KEY, message, path, key=True, hint=f"write {name}", evidence={"published": name})


def _tolerations(request: RequestView) -> Iterator[Fault]:
    items = listing(request.body.get("tolerations"))
    base = (*request.path, "tolerations")
    if len(items) > TOLERATION_LIMIT:
        message = f"request {request.name} has {len(items)} tolerations; {TOLERATION_LIMIT} are documented as the limit"
        yield Fault(rules.MANY_TOLERATIONS, message, base, key=True)
    keys_with_execute = {text(item.get("key")) for _, item in entries(items) if item.get("effect") == "NoExecute"}
    for index, item in entries(items):
        path = (*base, index)
        key, effect = text(item.get("key")), text(item.get("effect"))
        operator = text(item.get("operator")) or "Equal"
        if item.get("tolerationSeconds") is not None and effect != "NoExecute":
            message = f"tolerationSeconds counts only with effect NoExecute, here it is {effect or 'not set'}"
            yield Fault(rules.TOLERATION_SECONDS, message, (*path, "tolerationSeconds"), key=True)
        if not effect and key not in keys_with_execute:
            shown = key or "all keys"
            message = (
                f"the toleration of {shown} names no effect: the claim is allocated despite a NoExecute taint, but the "
                f"pod is evicted when one appears"
            )
            yield Fault(rules.NO_EXECUTE, message, path, hint="add an entry with effect: NoExecute")
        if operator == "Equal" and not key:
            yield Fault(rules.EMPTY_KEY, "operator Equal without a key compares only the value", path)


# --- selectors ------------------------------------------------------------------------------------------------------


def selectors_of(
    body: Mapping[str, Any], path: Path, environment: Environment
) -> Iterator[tuple[Path, str, SelectorView]]:
    """The selectors of a request or class spec that are valid CEL: path of the expression, text, view."""
    for index, item in entries(body.get("selectors")):
        expression = text(at(item, "cel", "expression"))
        view = selector_view(expression, environment) if expression else None
        if view is not None:
            yield (*path, "selectors", index, "cel", "expression"), expression, view


def _selector(path: Path, view: SelectorView) -> Iterator[Fault]:
    for read in view.reads:
        yield from _read_fault(path, read)
    for where, names, offset in view.dotted:
        yield _dotted_fault(path, where, names, offset)
    for comparison in view.comparisons:
        yield from _comparison_fault(path, comparison)
    for function, value, offset in view.constants:
        if not _is_constant(function, value):
            what = "quantity" if function == "quantity" else "semantic version (three numbers)"
            message = f'"{value}" is no {what}: the expression compiles and fails on every device'
            yield Fault(rules.BAD_CONSTANT, message, path, offset=offset)


def _dotted_fault(path: Path, where: str, names: tuple[str, ...], offset: int) -> Fault:
    """``device.attributes.gpu.nvidia.com.model``: each dot is a step of its own."""
    base = f"device.{where}"
    domain, name = ".".join(names[:-1]), names[-1]
    message = (
        f'{base}.{".".join(names)} reads {names[1]} of a domain "{names[0]}": every dot is a step, and a domain with '
        "dots stands in brackets; it compiles and fails on every device (no such key)"
    )
    return Fault(rules.UNPUBLISHED, message, path, offset=offset, hint=f'write {base}["{domain}"].{name}')


def _is_constant(function: str, value: str) -> bool:
    try:
        if function == "quantity":
            Quantity.parse(value)
        else:
            Semver.parse(value)
    except ValueError:
        return False
    return True


def _read_fault(path: Path, read: Read) -> Iterator[Fault]:
    """A name that a known driver does not publish."""
    if "/" in read.domain:
        domain, _, name = read.domain.rpartition("/")
        message = f"no device has the domain {read.domain}: the domain ends before the first slash"
        hint = f'write device.attributes["{domain}"].{name}'
        yield Fault(rules.UNPUBLISHED, message, path, offset=read.offset, hint=hint)
        return
    driver = drivers.DRIVERS.get(read.domain)
    if driver is None or read.asked:
        return
    own = {name for domain, name in driver.attributes if domain == read.domain}
    if read.kind == "attribute" and read.name not in own:
        if read.name in driver.capacities:
            message = f"{read.name} is a capacity of {read.domain}, not an attribute"
            hint = f'read device.capacity["{read.domain}"].{read.name}'
            yield Fault(rules.ATTRIBUTE_OR_CAPACITY, message, path, offset=read.offset, hint=hint)
        elif driver.complete:
            gone = driver.gone.get(read.name)
            message = f"{read.domain} publishes no attribute {read.name}" + (f": {gone}" if gone else "")
            hint = "" if gone else _similar(read.name, own)
            yield Fault(rules.UNPUBLISHED, message, path, offset=read.offset, hint=hint)
    elif read.kind == "capacity" and read.name not in driver.capacities:
        if read.name in own:
            message = f"{read.name} is an attribute of {read.domain}, not a capacity"
            hint = f'read device.attributes["{read.domain}"].{read.name}'
            yield Fault(rules.ATTRIBUTE_OR_CAPACITY, message, path, offset=read.offset, hint=hint)
        elif driver.complete:
            message = f"{read.domain} publishes no capacity {read.name}"
            hint = _similar(read.name, driver.capacities)
            yield Fault(rules.UNPUBLISHED, message, path, offset=read.offset, hint=hint)


def _similar(name: str, known: Any) -> str:
    from dractl.validation.versions import closest

    close = closest(name, sorted(known))
    return f"did you mean {close}?" if close else f"it publishes {', '.join(sorted(known)[:12])}"


_WORD_OF = {str: "a text", int: "a number", bool: "true or false", float: "a number"}
_RIGHT = {"string": (str,), "int": (int,), "bool": (bool,)}


def _comparison_fault(path: Path, found: Comparison) -> Iterator[Fault]:
    driver = drivers.DRIVERS.get(found.read.domain)
    if driver is None:
        return
    if found.read.kind == "capacity":
        if found.read.name == "memory" and found.wrapped == "quantity" and found.lower:
            yield from _nominal(path, found)
        return
    attribute = driver.attributes.get((found.read.domain, found.read.name))
    if attribute is None:
        return
    yield from _value_type(path, found, attribute.kind)
    if found.read.name == "productName" and isinstance(found.value, str) and not found.wrapped:
        yield from _label_spelling(path, found)


def _value_type(path: Path, found: Comparison, kind: str) -> Iterator[Fault]:
    name = found.read.name
    if kind == "version" and not found.wrapped:
        message = f"{name} is a version, it is never equal to {_WORD_OF[type(found.value)]}: the comparison fails"
        hint = f'compare with semver("{found.value}")' if isinstance(found.value, str) else "compare with semver(...)"
        yield Fault(rules.WRONG_VALUE_TYPE, message, path, offset=found.offset, hint=hint)
    elif kind in _RIGHT and (found.wrapped or type(found.value) not in _RIGHT[kind]):
        given = f"a {found.wrapped}" if found.wrapped else _WORD_OF[type(found.value)]
        wanted = {"string": "a text", "int": "a number", "bool": "true or false"}[kind]
        message = f"{name} is published as {wanted}; compared with {given} it never matches"
        bare = isinstance(found.value, str) and (
            (kind == "bool" and found.value in ("true", "false")) or (kind == "int" and found.value.isdecimal())
        )
        hint = f"write {found.value} without quotes" if bare and not found.wrapped else ""
        yield Fault(rules.WRONG_VALUE_TYPE, message, path, offset=found.offset, hint=hint)


def _nominal(path: Path, found: Comparison) -> Iterator[Fault]:
    """A wanted memory that is just above what a product has."""
    try:
        wanted = Quantity.parse(str(found.value)).nano / 10**9
    except QuantityError:
        return
    products = drivers.PRODUCT_MEMORY.get(found.read.domain, {})
    just_below = sorted(
        ((mib, name) for name, mib in products.items() if wanted * (1 - _NEAR) <= mib * _MIB < wanted), reverse=True
    )
    if not just_below:
        return
    mib = min(size for size, _ in just_below)
    names = ", ".join(name for _, name in just_below[:3])
    message = (
        f"memory of at least {found.value} leaves out {names}, which publish {mib}Mi ({mib / 1024:.2f}Gi): less than "
        f"the name says"
    )
    hint = f"if they are meant, ask for {mib // 1024}Gi"
    yield Fault(rules.NOMINAL_MEMORY, message, path, offset=found.offset, hint=hint)


def _label_spelling(path: Path, found: Comparison) -> Iterator[Fault]:
    products = drivers.PRODUCT_MEMORY.get(found.read.domain, {})
    value = str(found.value)
    if value in products:
        return
    for name in products:
        if name.replace(" ", "-") == value:
            message = f"'{value}' is the spelling of the node label; the driver publishes '{name}'"
            hint = f"write '{name}'"
            yield Fault(rules.LABEL_SPELLING, message, path, offset=found.offset, hint=hint)
            return


# --- configuration --------------------------------------------------------------------------------------------------


def config_faults(path: Path, entry: Mapping[str, Any]) -> Iterator[Fault]:
    """Opaque parameters of known drivers."""
    driver = drivers.DRIVERS.get(text(at(entry, "opaque", "driver")))
    parameters = at(entry, "opaque", "parameters")
    base = (*path, "opaque", "parameters")
    if driver is None or not driver.parameters or not isinstance(parameters, dict):
        return
    kind, version = text(parameters.get("kind")), text(parameters.get("apiVersion"))
    known = [one for one in driver.parameters if one.kind == kind and one.api_version == version]
    if not known:
        names = ", ".join(f"{one.api_version} {one.kind}" for one in driver.parameters)
        message = f"{driver.name} does not know {version or 'no apiVersion'} {kind or 'no kind'}; it takes {names}"
        yield Fault(rules.CONFIG_CONTENT, message, (*base, "kind"))
        return
    spec = {**known[0].fields, "apiVersion": str, "kind": str}
    wrong = list(_fields(parameters, spec, base, driver.name))
    yield from wrong
    if known[0].gate:
        message = f"{kind} works only if the driver runs with its feature gate {known[0].gate}, off by default"
        yield Fault(rules.DRIVER_GATE, message, (*base, "kind"), evidence={"gate": known[0].gate})
    yield from _sharing(parameters, base, driver.name, right=not wrong)


_CONFIG_OF_TYPE = {"gpu": "GpuConfig", "mig": "MigDeviceConfig", "vfio": "VfioDeviceConfig"}
"""The NVIDIA driver's configuration for each type of device."""


def _config_kind(path: Path, entry: Mapping[str, Any], claim: ClaimView) -> Iterator[Fault]:
    """A configuration whose kind is for another type of device than the classes of its requests select."""
    if at(entry, "opaque", "driver") != "gpu.nvidia.com":
        return
    kind = text(at(entry, "opaque", "parameters", "kind"))
    if kind not in _CONFIG_OF_TYPE.values():
        return
    for view in claim.chosen(entry.get("requests")):
        driver, device_type = drivers.CLASSES.get(view.device_class, ("", ""))
        wanted = _CONFIG_OF_TYPE.get(device_type)
        if driver == "gpu.nvidia.com" and wanted and wanted != kind:
            message = (
                f"{kind} is not for devices of class {view.device_class} (type {device_type}): the driver refuses it "
                "when "
                f"the device is prepared"
            )
            yield Fault(rules.CONFIG_CONTENT, message, (*path, "opaque", "parameters", "kind"), hint=f"use {wanted}")
            return


def _fields(value: Mapping[str, Any], spec: Mapping[str, Any], path: Path, driver: str) -> Iterator[Fault]:
    for key, item in value.items():
        wanted = spec.get(key)
        here = (*path, key)
        if wanted is None:
            message = f"{driver} knows no field {key} there; it knows {', '.join(sorted(spec))}"
            yield Fault(rules.CONFIG_CONTENT, message, here, key=True)
        elif isinstance(wanted, Mapping):
            if isinstance(item, dict):
                yield from _fields(item, wanted, here, driver)
        elif isinstance(wanted, tuple) and item not in wanted:
            message = f"{key} is one of {', '.join(wanted)}, not {item}"
            yield Fault(rules.CONFIG_CONTENT, message, here)


def _sharing(parameters: Mapping[str, Any], base: Path, driver: str, right: bool) -> Iterator[Fault]:
    """NVIDIA's sharing strategies and the driver's gates for their settings."""
    sharing = mapping(parameters.get("sharing"))
    strategy = text(sharing.get("strategy"))
    blocks = {"TimeSlicing": "timeSlicingConfig", "MPS": "mpsConfig"}
    for other, block in blocks.items():
        if block in sharing and strategy and strategy != other:
            message = (
                f"{block} belongs to strategy {other}, the strategy is {strategy}: the driver refuses both together"
            )
            if strategy in blocks:
                yield Fault(rules.CONFIG_CONTENT, message, (*base, "sharing", block), key=True)
    gate = drivers.NVIDIA_GATES.get(strategy)
    if gate is None or driver != "gpu.nvidia.com":
        return
    block = blocks[strategy]
    settings = mapping(sharing.get(block))
    detail = " with an interval" if "interval" in settings else f" with {block}" if settings else ""
    message = (
        f"strategy {strategy}{detail} works only if the NVIDIA driver runs with its feature gate {gate}, off by "
        f"default; otherwise preparing the device on the node fails (unknown GPU sharing strategy) and the pod stays "
        f"in ContainerCreating"
    )
    hint = f"enable the gate in the driver's chart (featureGates.{gate}=true), or take the config out"
    yield Fault(
        rules.DRIVER_GATE,
        message,
        (*base, "sharing", "strategy"),
        hint=hint,
        evidence={
            "gate": gate,
            "note": "the API server does not look into opaque parameters"
            + ("; apiVersion, kind and field names here are spelled as the driver wants them" if right else ""),
        },
    )


# --- classes, rules -------------------------------------------------------------------------------------------------


def _class(value: Json, environment: Environment) -> Iterator[Fault]:
    spec = mapping(value.get("spec"))
    safe = False
    for path, _, view in selectors_of(spec, ("spec",), environment):
        yield from _selector(path, view)
        if not safe and not view.guarded:
            read = next((read for read in view.reads if not read.asked), None)
            if read is not None:
                message = (
                    f"it reads {read.kind} {read.name} of {read.domain} on devices of every driver: on one without it "
                    f"the expression fails, and the scheduler gives up on the pod"
                )
                hint = f'put device.driver == "{read.domain}" && in front'
                yield Fault(
                    rules.NO_DRIVER_GUARD,
                    message,
                    path,
                    offset=read.offset,
                    hint=hint,
                    evidence={"driver": read.domain},
                )
        safe = safe or view.drivers is not None
    for index, entry in entries(spec.get("config")):
        yield from config_faults(("spec", "config", index), entry)
    name = text(at(value, "metadata", "name"))
    if len(name) > 63:
        message = (
            f"{name} has {len(name)} characters: deviceclass.resource.kubernetes.io/{name} is no valid resource name"
        )
        yield Fault(rules.LONG_CLASS_NAME, message, ("metadata", "name"))


def _taint_rule(value: Json, settings: Settings) -> Iterator[Fault]:
    spec = mapping(value.get("spec"))
    if spec and spec.get("deviceSelector") is None:
        message = "a rule without deviceSelector is documented to match nothing"
        if settings.release < (1, 37):
            message += f", but the scheduler of {settings.version} taints every device of the cluster with it"
        yield Fault(
            rules.TAINTS_EVERYTHING, message, ("spec",), key=True, hint="set deviceSelector: {} if that is meant"
        )


# --- pods -----------------------------------------------------------------------------------------------------------


def _pod(pod: PodView, kind: str) -> Iterator[Fault]:
    used = {
        text(claim.get("name"))
        for _, container in pod.containers()
        for _, claim in entries(at(container, "resources", "claims"))
    }
    listed = {text(claim.get("name")) for _, claim in entries(pod.spec.get("resourceClaims"))}
    # a container that names another claim, or names it in the wrong place, is the fault to tell
    astray = bool(used - listed) or any("claims" in container for _, container in pod.containers())
    for index, claim in entries(pod.spec.get("resourceClaims")):
        name = text(claim.get("name"))
        path = (*pod.path, "resourceClaims", index)
        if name and name not in used and not astray:
            message = f"no container uses claim {name}: its devices are allocated and no container sees them"
            yield Fault(rules.CLAIM_NOT_USED, message, path, hint=f"resources: claims: [{{name: {name}}}]")
        long = len(pod.name) + len(name) + 2
        if kind == "Pod" and claim.get("resourceClaimTemplateName") and pod.name and long > NAME_LIMIT:
            message = (
                f"{pod.name}-{name}- is longer than {NAME_LIMIT} characters: both parts are cut in the claim's name"
            )
            yield Fault(rules.NAME_CUT, message, path)
    yield from _claim_beside_resource(pod)


def _shared(pod: PodView, kind: str, value: Json) -> Iterator[Fault]:
    """One claim for all pods of a workload."""
    counts = {
        "Deployment": at(value, "spec", "replicas"),
        "ReplicaSet": at(value, "spec", "replicas"),
        "StatefulSet": at(value, "spec", "replicas"),
        "Job": at(value, "spec", "parallelism"),
    }
    number = counts.get(kind)
    if kind != "DaemonSet" and not (isinstance(number, int) and number > 1):
        return
    for index, claim in entries(pod.spec.get("resourceClaims")):
        name = text(claim.get("resourceClaimName"))
        if not name:
            continue
        pods = "the pods of all nodes" if kind == "DaemonSet" else f"all {number} pods"
        message = f"{pods} share claim {name} and its devices: they can run only where it is allocated"
        if kind == "DaemonSet":
            message += ", so the pods of the other nodes wait for ever"
        yield Fault(
            rules.ONE_CLAIM_FOR_ALL,
            message,
            (*pod.path, "resourceClaims", index, "resourceClaimName"),
            key=True,
            hint="for devices of its own in each pod: resourceClaimTemplateName",
            severity=Severity.WARNING if kind == "DaemonSet" else None,
        )


def _claim_beside_resource(pod: PodView) -> Iterator[Fault]:
    """A pod that has claims and asks for an extended resource of the same hardware."""
    names = [
        text(claim.get("resourceClaimTemplateName")) or text(claim.get("resourceClaimName"))
        for _, claim in entries(pod.spec.get("resourceClaims"))
    ]
    if not names:
        return
    for path, container in pod.containers():
        claims = [text(claim.get("name")) for _, claim in entries(at(container, "resources", "claims"))]
        for resource in mapping(at(container, "resources", "limits")):
            driver = drivers.driver_of_resource(resource) if "/" in resource else None
            if driver is not None and claims:
                message = (
                    f"container {text(container.get('name'))} asks for {resource} from the device plugin and has claim "
                    f"{', '.join(claims)} beside it: two systems that do not know of each other"
                )
                yield Fault(
                    workloads.CLAIM_AND_RESOURCE, message, (*path, "resources", "limits", resource), key=True,
                    hint=f"keep one of the two; if both serve {driver.name} devices, one device may be given out twice",
                )  # fmt: skip
