"""Signatures of Kubernetes' own CEL libraries and of the one function that DRA adds.

The form of a line is explained in ``decl_standard``. The authorizer functions cannot be reached from a device selector
(nothing there is an authorizer), yet their names are declared and so appear in error messages.
Source: ``k8s.io/apiserver/pkg/cel/library`` and ``k8s.io/dynamic-resource-allocation/cel``.
"""

from __future__ import annotations

URLS = """\
url_get_escaped_path: (kubernetes.URL).getEscapedPath() -> string
url_get_host: (kubernetes.URL).getHost() -> string
url_get_hostname: (kubernetes.URL).getHostname() -> string
url_get_port: (kubernetes.URL).getPort() -> string
url_get_query: (kubernetes.URL).getQuery() -> map(string, list(string))
url_get_scheme: (kubernetes.URL).getScheme() -> string
is_url_string: isURL(string) -> bool
string_to_url: url(string) -> kubernetes.URL
"""

REGEX = """\
string_find_string: (string).find(string) -> string
string_find_all_string: (string).findAll(string) -> list(string)
string_find_all_string_int: (string).findAll(string, int) -> list(string)
"""

LISTS = """\
list_a_index_of_int: (list(A)).indexOf(A) -> int
list_int_is_sorted_bool: (list(int)).isSorted() -> bool
list_uint_is_sorted_bool: (list(uint)).isSorted() -> bool
list_double_is_sorted_bool: (list(double)).isSorted() -> bool
list_bool_is_sorted_bool: (list(bool)).isSorted() -> bool
list_duration_is_sorted_bool: (list(duration)).isSorted() -> bool
list_timestamp_is_sorted_bool: (list(timestamp)).isSorted() -> bool
list_string_is_sorted_bool: (list(string)).isSorted() -> bool
list_bytes_is_sorted_bool: (list(bytes)).isSorted() -> bool
list_a_last_index_of_int: (list(A)).lastIndexOf(A) -> int
list_int_max_int: (list(int)).max() -> int
list_uint_max_uint: (list(uint)).max() -> uint
list_double_max_double: (list(double)).max() -> double
list_bool_max_bool: (list(bool)).max() -> bool
list_duration_max_duration: (list(duration)).max() -> duration
list_timestamp_max_timestamp: (list(timestamp)).max() -> timestamp
list_string_max_string: (list(string)).max() -> string
list_bytes_max_bytes: (list(bytes)).max() -> bytes
list_int_min_int: (list(int)).min() -> int
list_uint_min_uint: (list(uint)).min() -> uint
list_double_min_double: (list(double)).min() -> double
list_bool_min_bool: (list(bool)).min() -> bool
list_duration_min_duration: (list(duration)).min() -> duration
list_timestamp_min_timestamp: (list(timestamp)).min() -> timestamp
list_string_min_string: (list(string)).min() -> string
list_bytes_min_bytes: (list(bytes)).min() -> bytes
list_int_sum_int: (list(int)).sum() -> int
list_uint_sum_uint: (list(uint)).sum() -> uint
list_double_sum_double: (list(double)).sum() -> double
list_duration_sum_duration: (list(duration)).sum() -> duration
"""

AUTHZ = """\
decision_allowed: (authz.Decision).allowed() -> bool
pathcheck_check: (authz.PathCheck).check(string) -> authz.Decision
resourcecheck_check: (authz.ResourceCheck).check(string) -> authz.Decision
decision_error: (authz.Decision).error() -> string
decision_errored: (authz.Decision).errored() -> bool
authorizer_group: (authz.Authorizer).group(string) -> authz.GroupCheck
resourcecheck_name: (authz.ResourceCheck).name(string) -> authz.ResourceCheck
resourcecheck_namespace: (authz.ResourceCheck).namespace(string) -> authz.ResourceCheck
authorizer_path: (authz.Authorizer).path(string) -> authz.PathCheck
decision_reason: (authz.Decision).reason() -> string
groupcheck_resource: (authz.GroupCheck).resource(string) -> authz.ResourceCheck
authorizer_serviceaccount: (authz.Authorizer).serviceAccount(string, string) -> authz.Authorizer
resourcecheck_subresource: (authz.ResourceCheck).subresource(string) -> authz.ResourceCheck
"""

AUTHZ_SELECTORS = """\
authorizer_fieldselector: (authz.ResourceCheck).fieldSelector(string) -> authz.ResourceCheck
authorizer_labelselector: (authz.ResourceCheck).labelSelector(string) -> authz.ResourceCheck
"""

QUANTITY = """\
quantity_add: (kubernetes.Quantity).add(kubernetes.Quantity) -> kubernetes.Quantity
quantity_add_int: (kubernetes.Quantity).add(int) -> kubernetes.Quantity
quantity_get_float: (kubernetes.Quantity).asApproximateFloat() -> double
quantity_get_int: (kubernetes.Quantity).asInteger() -> int
quantity_compare_to: (kubernetes.Quantity).compareTo(kubernetes.Quantity) -> int
quantity_is_greater_than: (kubernetes.Quantity).isGreaterThan(kubernetes.Quantity) -> bool
quantity_is_integer: (kubernetes.Quantity).isInteger() -> bool
quantity_is_less_than: (kubernetes.Quantity).isLessThan(kubernetes.Quantity) -> bool
is_quantity_string: isQuantity(string) -> bool
string_to_quantity: quantity(string) -> kubernetes.Quantity
quantity_sign: sign(kubernetes.Quantity) -> int
quantity_sub: (kubernetes.Quantity).sub(kubernetes.Quantity) -> kubernetes.Quantity
quantity_sub_int: (kubernetes.Quantity).sub(int) -> kubernetes.Quantity
"""

IP = """\
ip_family: (net.IP).family() -> int
string_to_ip: ip(string) -> net.IP
ip_is_canonical: ip.isCanonical(string) -> bool
ip_is_global_unicast: (net.IP).isGlobalUnicast() -> bool
is_ip: isIP(string) -> bool
ip_is_link_local_multicast: (net.IP).isLinkLocalMulticast() -> bool
ip_is_link_local_unicast: (net.IP).isLinkLocalUnicast() -> bool
ip_is_loopback: (net.IP).isLoopback() -> bool
ip_is_unspecified: (net.IP).isUnspecified() -> bool
ip_to_string: string(net.IP) -> string
"""

CIDR = """\
string_to_cidr: cidr(string) -> net.CIDR
cidr_contains_cidr_string: (net.CIDR).containsCIDR(string) -> bool
cidr_contains_cidr: (net.CIDR).containsCIDR(net.CIDR) -> bool
cidr_contains_ip_string: (net.CIDR).containsIP(string) -> bool
cidr_contains_ip_ip: (net.CIDR).containsIP(net.IP) -> bool
cidr_ip: (net.CIDR).ip() -> net.IP
is_cidr: isCIDR(string) -> bool
cidr_masked: (net.CIDR).masked() -> net.CIDR
cidr_prefix_length: (net.CIDR).prefixLength() -> int
cidr_to_string: string(net.CIDR) -> string
"""

FORMAT = """\
format.byte: format.byte() -> kubernetes.NamedFormat
format.date: format.date() -> kubernetes.NamedFormat
format.datetime: format.datetime() -> kubernetes.NamedFormat
format.dns1035Label: format.dns1035Label() -> kubernetes.NamedFormat
format.dns1035LabelPrefix: format.dns1035LabelPrefix() -> kubernetes.NamedFormat
format.dns1123Label: format.dns1123Label() -> kubernetes.NamedFormat
format.dns1123LabelPrefix: format.dns1123LabelPrefix() -> kubernetes.NamedFormat
format.dns1123Subdomain: format.dns1123Subdomain() -> kubernetes.NamedFormat
format.dns1123SubdomainPrefix: format.dns1123SubdomainPrefix() -> kubernetes.NamedFormat
format.labelValue: format.labelValue() -> kubernetes.NamedFormat
format-named: format.named(string) -> optional(kubernetes.NamedFormat)
format.qualifiedName: format.qualifiedName() -> kubernetes.NamedFormat
format.uri: format.uri() -> kubernetes.NamedFormat
format.uuid: format.uuid() -> kubernetes.NamedFormat
format-validate: (kubernetes.NamedFormat).validate(string) -> optional(list(string))
"""

SEMVER = """\
semver_compare_to: (kubernetes.Semver).compareTo(kubernetes.Semver) -> int
semver_is_greater_than: (kubernetes.Semver).isGreaterThan(kubernetes.Semver) -> bool
semver_is_less_than: (kubernetes.Semver).isLessThan(kubernetes.Semver) -> bool
is_semver_string: isSemver(string) -> bool
is_semver_string_bool: isSemver(string, bool) -> bool
semver_major: (kubernetes.Semver).major() -> int
semver_minor: (kubernetes.Semver).minor() -> int
semver_patch: (kubernetes.Semver).patch() -> int
string_to_semver: semver(string) -> kubernetes.Semver
string_bool_to_semver: semver(string, bool) -> kubernetes.Semver
"""

# the function that DRA adds, as 1.36 declares it
INCLUDES_136 = """\
dra_includes_dyn_dyn: (dyn).includes(dyn) -> bool
"""

# and as 1.37 does
INCLUDES_137 = """\
list_includes_dyn_dyn: (dyn).includes(dyn) -> bool
"""
