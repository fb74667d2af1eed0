"""Signatures of CEL's standard library, of the optional types and of the two-variable comprehensions.

One overload a line: ``overload id: (receiver type).function(argument types) -> result type`` for a method,
``overload id: function(argument types) -> result type`` for a function or an operator. A capital letter is a type
parameter. The order of a function's overloads is the order in which cel-go tries them.
Source: cel-go ``common/stdlib`` and ``cel/library.go``.
"""

from __future__ import annotations

STANDARD = """\
logical_not: !_(bool) -> bool
negate_double: -_(double) -> double
negate_int64: -_(int) -> int
in_list: @in(A, list(A)) -> bool
in_map: @in(A, map(A, B)) -> bool
not_strictly_false: @not_strictly_false(bool) -> bool
not_equals: _!=_(A, A) -> bool
modulo_int64: _%_(int, int) -> int
modulo_uint64: _%_(uint, uint) -> uint
logical_and: _&&_(bool, bool) -> bool
multiply_double: _*_(double, double) -> double
multiply_int64: _*_(int, int) -> int
multiply_uint64: _*_(uint, uint) -> uint
add_bytes: _+_(bytes, bytes) -> bytes
add_double: _+_(double, double) -> double
add_duration_duration: _+_(duration, duration) -> duration
add_duration_timestamp: _+_(duration, timestamp) -> timestamp
add_timestamp_duration: _+_(timestamp, duration) -> timestamp
add_int64: _+_(int, int) -> int
add_list: _+_(list(A), list(A)) -> list(A)
add_string: _+_(string, string) -> string
add_uint64: _+_(uint, uint) -> uint
subtract_double: _-_(double, double) -> double
subtract_duration_duration: _-_(duration, duration) -> duration
subtract_int64: _-_(int, int) -> int
subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp
subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration
subtract_uint64: _-_(uint, uint) -> uint
divide_double: _/_(double, double) -> double
divide_int64: _/_(int, int) -> int
divide_uint64: _/_(uint, uint) -> uint
less_equals_bool: _<=_(bool, bool) -> bool
less_equals_int64: _<=_(int, int) -> bool
less_equals_int64_double: _<=_(int, double) -> bool
less_equals_int64_uint64: _<=_(int, uint) -> bool
less_equals_uint64: _<=_(uint, uint) -> bool
less_equals_uint64_double: _<=_(uint, double) -> bool
less_equals_uint64_int64: _<=_(uint, int) -> bool
less_equals_double: _<=_(double, double) -> bool
less_equals_double_int64: _<=_(double, int) -> bool
less_equals_double_uint64: _<=_(double, uint) -> bool
less_equals_string: _<=_(string, string) -> bool
less_equals_bytes: _<=_(bytes, bytes) -> bool
less_equals_timestamp: _<=_(timestamp, timestamp) -> bool
less_equals_duration: _<=_(duration, duration) -> bool
less_bool: _<_(bool, bool) -> bool
less_int64: _<_(int, int) -> bool
less_int64_double: _<_(int, double) -> bool
less_int64_uint64: _<_(int, uint) -> bool
less_uint64: _<_(uint, uint) -> bool
less_uint64_double: _<_(uint, double) -> bool
less_uint64_int64: _<_(uint, int) -> bool
less_double: _<_(double, double) -> bool
less_double_int64: _<_(double, int) -> bool
less_double_uint64: _<_(double, uint) -> bool
less_string: _<_(string, string) -> bool
less_bytes: _<_(bytes, bytes) -> bool
less_timestamp: _<_(timestamp, timestamp) -> bool
less_duration: _<_(duration, duration) -> bool
equals: _==_(A, A) -> bool
greater_equals_bool: _>=_(bool, bool) -> bool
greater_equals_int64: _>=_(int, int) -> bool
greater_equals_int64_double: _>=_(int, double) -> bool
greater_equals_int64_uint64: _>=_(int, uint) -> bool
greater_equals_uint64: _>=_(uint, uint) -> bool
greater_equals_uint64_double: _>=_(uint, double) -> bool
greater_equals_uint64_int64: _>=_(uint, int) -> bool
greater_equals_double: _>=_(double, double) -> bool
greater_equals_double_int64: _>=_(double, int) -> bool
greater_equals_double_uint64: _>=_(double, uint) -> bool
greater_equals_string: _>=_(string, string) -> bool
greater_equals_bytes: _>=_(bytes, bytes) -> bool
greater_equals_timestamp: _>=_(timestamp, timestamp) -> bool
greater_equals_duration: _>=_(duration, duration) -> bool
greater_bool: _>_(bool, bool) -> bool
greater_int64: _>_(int, int) -> bool
greater_int64_double: _>_(int, double) -> bool
greater_int64_uint64: _>_(int, uint) -> bool
greater_uint64: _>_(uint, uint) -> bool
greater_uint64_double: _>_(uint, double) -> bool
greater_uint64_int64: _>_(uint, int) -> bool
greater_double: _>_(double, double) -> bool
greater_double_int64: _>_(double, int) -> bool
greater_double_uint64: _>_(double, uint) -> bool
greater_string: _>_(string, string) -> bool
greater_bytes: _>_(bytes, bytes) -> bool
greater_timestamp: _>_(timestamp, timestamp) -> bool
greater_duration: _>_(duration, duration) -> bool
conditional: _?_:_(bool, A, A) -> A
index_list: _[_](list(A), int) -> A
index_map: _[_](map(A, B), A) -> B
logical_or: _||_(bool, bool) -> bool
bool_to_bool: bool(bool) -> bool
string_to_bool: bool(string) -> bool
bytes_to_bytes: bytes(bytes) -> bytes
string_to_bytes: bytes(string) -> bytes
contains_string: (string).contains(string) -> bool
double_to_double: double(double) -> double
int64_to_double: double(int) -> double
string_to_double: double(string) -> double
uint64_to_double: double(uint) -> double
duration_to_duration: duration(duration) -> duration
int64_to_duration: duration(int) -> duration
string_to_duration: duration(string) -> duration
to_dyn: dyn(A) -> dyn
ends_with_string: (string).endsWith(string) -> bool
timestamp_to_day_of_month_1_based: (timestamp).getDate() -> int
timestamp_to_day_of_month_1_based_with_tz: (timestamp).getDate(string) -> int
timestamp_to_day_of_month: (timestamp).getDayOfMonth() -> int
timestamp_to_day_of_month_with_tz: (timestamp).getDayOfMonth(string) -> int
timestamp_to_day_of_week: (timestamp).getDayOfWeek() -> int
timestamp_to_day_of_week_with_tz: (timestamp).getDayOfWeek(string) -> int
timestamp_to_day_of_year: (timestamp).getDayOfYear() -> int
timestamp_to_day_of_year_with_tz: (timestamp).getDayOfYear(string) -> int
timestamp_to_year: (timestamp).getFullYear() -> int
timestamp_to_year_with_tz: (timestamp).getFullYear(string) -> int
timestamp_to_hours: (timestamp).getHours() -> int
timestamp_to_hours_with_tz: (timestamp).getHours(string) -> int
duration_to_hours: (duration).getHours() -> int
timestamp_to_milliseconds: (timestamp).getMilliseconds() -> int
timestamp_to_milliseconds_with_tz: (timestamp).getMilliseconds(string) -> int
duration_to_milliseconds: (duration).getMilliseconds() -> int
timestamp_to_minutes: (timestamp).getMinutes() -> int
timestamp_to_minutes_with_tz: (timestamp).getMinutes(string) -> int
duration_to_minutes: (duration).getMinutes() -> int
timestamp_to_month: (timestamp).getMonth() -> int
timestamp_to_month_with_tz: (timestamp).getMonth(string) -> int
timestamp_to_seconds: (timestamp).getSeconds() -> int
timestamp_to_seconds_tz: (timestamp).getSeconds(string) -> int
duration_to_seconds: (duration).getSeconds() -> int
int64_to_int64: int(int) -> int
double_to_int64: int(double) -> int
duration_to_int64: int(duration) -> int
string_to_int64: int(string) -> int
timestamp_to_int64: int(timestamp) -> int
uint64_to_int64: int(uint) -> int
matches: matches(string, string) -> bool
matches_string: (string).matches(string) -> bool
size_bytes: size(bytes) -> int
bytes_size: (bytes).size() -> int
size_list: size(list(A)) -> int
list_size: (list(A)).size() -> int
size_map: size(map(A, B)) -> int
map_size: (map(A, B)).size() -> int
size_string: size(string) -> int
string_size: (string).size() -> int
starts_with_string: (string).startsWith(string) -> bool
string_to_string: string(string) -> string
bool_to_string: string(bool) -> string
bytes_to_string: string(bytes) -> string
double_to_string: string(double) -> string
duration_to_string: string(duration) -> string
int64_to_string: string(int) -> string
timestamp_to_string: string(timestamp) -> string
uint64_to_string: string(uint) -> string
timestamp_to_timestamp: timestamp(timestamp) -> timestamp
int64_to_timestamp: timestamp(int) -> timestamp
string_to_timestamp: timestamp(string) -> timestamp
type: type(A) -> type(A)
uint64_to_uint64: uint(uint) -> uint
double_to_uint64: uint(double) -> uint
int64_to_uint64: uint(int) -> uint
string_to_uint64: uint(string) -> uint
"""

OPTIONALS = """\
select_optional_field: _?._(dyn, string) -> optional(V)
list_optindex_optional_int: _[?_](list(V), int) -> optional(V)
optional_list_optindex_optional_int: _[?_](optional(list(V)), int) -> optional(V)
map_optindex_optional_value: _[?_](map(K, V), K) -> optional(V)
optional_map_optindex_optional_value: _[?_](optional(map(K, V)), K) -> optional(V)
optional_list_index_int: _[_](optional(list(V)), int) -> optional(V)
optional_map_index_value: _[_](optional(map(K, V)), K) -> optional(V)
list_first: (list(V)).first() -> optional(V)
optional_hasValue: (optional(V)).hasValue() -> bool
list_last: (list(V)).last() -> optional(V)
optional_none: optional.none() -> optional(V)
optional_of: optional.of(V) -> optional(V)
optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> optional(V)
optional_unwrap: optional.unwrap(list(optional(V))) -> list(V)
optional_or_optional: (optional(V)).or(optional(V)) -> optional(V)
optional_orValue_value: (optional(V)).orValue(V) -> V
optional_unwrapOpt: (list(optional(V))).unwrapOpt() -> list(V)
optional_value: (optional(V)).value() -> V
"""

COMPREHENSIONS = """\
@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)
@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)
"""
