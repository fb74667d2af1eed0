"""Signatures of cel-go's extension libraries that Kubernetes turns on: strings (version 2), sets and lists (version 3).

The form of a line is explained in ``decl_standard``. Source: cel-go ``ext``.
"""

from __future__ import annotations

STRINGS = """\
string_char_at_int: (string).charAt(int) -> string
string_format: (string).format(list(dyn)) -> string
string_index_of_string: (string).indexOf(string) -> int
string_index_of_string_int: (string).indexOf(string, int) -> int
list_join: (list(string)).join() -> string
list_join_string: (list(string)).join(string) -> string
string_last_index_of_string: (string).lastIndexOf(string) -> int
string_last_index_of_string_int: (string).lastIndexOf(string, int) -> int
string_lower_ascii: (string).lowerAscii() -> string
string_replace_string_string: (string).replace(string, string) -> string
string_replace_string_string_int: (string).replace(string, string, int) -> string
string_split_string: (string).split(string) -> list(string)
string_split_string_int: (string).split(string, int) -> list(string)
strings_quote: strings.quote(string) -> string
string_substring_int: (string).substring(int) -> string
string_substring_int_int: (string).substring(int, int) -> string
string_trim: (string).trim() -> string
string_upper_ascii: (string).upperAscii() -> string
"""

SETS = """\
list_sets_contains_list: sets.contains(list(T), list(T)) -> bool
list_sets_equivalent_list: sets.equivalent(list(T), list(T)) -> bool
list_sets_intersects_list: sets.intersects(list(T), list(T)) -> bool
"""

LISTS = """\
list_int_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(int)) -> list(T)
list_uint_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(uint)) -> list(T)
list_double_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(double)) -> list(T)
list_bool_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(bool)) -> list(T)
list_google.protobuf.Duration_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(duration)) -> list(T)
list_google.protobuf.Timestamp_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(timestamp)) -> list(T)
list_string_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(string)) -> list(T)
list_bytes_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list(bytes)) -> list(T)
list_distinct: (list(T)).distinct() -> list(T)
list_flatten: (list(list(T))).flatten() -> list(T)
list_flatten_int: (list(dyn)).flatten(int) -> list(dyn)
lists_range: lists.range(int) -> list(int)
list_reverse: (list(T)).reverse() -> list(T)
list_slice: (list(T)).slice(int, int) -> list(T)
list_int_sort: (list(int)).sort() -> list(int)
list_uint_sort: (list(uint)).sort() -> list(uint)
list_double_sort: (list(double)).sort() -> list(double)
list_bool_sort: (list(bool)).sort() -> list(bool)
list_google.protobuf.Duration_sort: (list(duration)).sort() -> list(duration)
list_google.protobuf.Timestamp_sort: (list(timestamp)).sort() -> list(timestamp)
list_string_sort: (list(string)).sort() -> list(string)
list_bytes_sort: (list(bytes)).sort() -> list(bytes)
"""
