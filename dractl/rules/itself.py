"""DRA9xx: dractl itself: what it could not see or decide."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

NOT_SEEN = Rule(
    code="DRA901",
    name="not-seen",
    title="Something that the answer rests on could not be read",
    severity=Severity.WARNING,
    cause=(
        "A kind of object was not readable (missing rights, an API that is not served) or is not in the snapshot. "
        "What is said about the rest is still true, but what depends on it is left open."
    ),
    fix="Grant list on the kinds named, or write the snapshot with them, and ask again.",
    example="pods could not be listed: holders are shown by claim only",
)

UNDECIDED = Rule(
    code="DRA902",
    name="undecided",
    title="The question is not decided",
    severity=Severity.WARNING,
    cause=(
        "The release of Kubernetes gives no deterministic answer here, or something is used that dractl does not "
        "model. It says so instead of guessing."
    ),
    fix="Read the reason beside it; where a release is the cause, name yours with --kubernetes.",
    example="before 1.36 the order of pools is random: several allocations are possible",
)

CHECK_FAILED = Rule(
    code="DRA903",
    name="check-failed",
    title="A check of dractl failed",
    severity=Severity.WARNING,
    cause="A check ended with an error of its own. The other checks are not affected, but this one says nothing.",
    fix="Run again with --debug and report what it prints.",
    example="DRA405 failed: KeyError",
)

RULES: tuple[Rule, ...] = (NOT_SEEN, UNDECIDED, CHECK_FAILED)
