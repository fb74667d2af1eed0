"""Claims from flags: what is printed is what was meant, is accepted by the API server, and is tried on the fleet."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dractl.validation.apiserver import admit


def read_all(text):
    import yaml

    return list(yaml.safe_load_all(text))


def read_one(text):
    (document,) = read_all(text)
    return document


def made(run):
    """The documents that a command printed; each one accepted by the API server's rules."""
    assert run.code == 0, run.err
    documents = read_all(run.out)
    for one in documents:
        verdict = admit(one)
        assert verdict.accepted, verdict.message
    return documents


def requests(run):
    return made(run)[0]["spec"]["devices"]["requests"]


def fits(run):
    found = re.search(r"Fits on (\d+) of (\d+) nodes now.* on (\d+) when", run.out.replace("\n# ", " "))
    return tuple(map(int, found.groups()))


def test_pairs_of_gpu_and_nic_are_aligned_one_by_one(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "h100*4", "--nic", "rdma*4", "--align", "pcie", "--demo")
    devices = made(run)[0]["spec"]["devices"]
    names = [one["name"] for one in devices["requests"]]
    assert names == ["gpu-0", "nic-0", "gpu-1", "nic-1", "gpu-2", "nic-2", "gpu-3", "nic-3"]
    assert devices["constraints"] == [
        {"requests": [f"gpu-{n}", f"nic-{n}"], "matchAttribute": "resource.kubernetes.io/pcieRoot"} for n in range(4)
    ]
    assert {one["exactly"]["count"] for one in devices["requests"]} == {1}
    # h100-3 has an incomplete pool, h100-1 other roots for its NICs
    now, _, idle = fits(run)
    assert now <= idle
    assert idle == 3


def test_unequal_counts_make_groups_by_their_common_divisor(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "h100*4", "--nic", "rdma*2", "--align", "pcie")
    devices = made(run)[0]["spec"]["devices"]
    assert [(one["name"], one["exactly"]["count"]) for one in devices["requests"]] == [
        ("gpu-0", 2), ("nic-0", 1), ("gpu-1", 2), ("nic-1", 1),
    ]  # fmt: skip


def test_memory_and_one_numa_node(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "memory>=40Gi", "--count", "2", "--same", "numa", "--demo")
    document = made(run)[0]
    (request,) = document["spec"]["devices"]["requests"]
    assert request["exactly"]["count"] == 2
    assert 'compareTo(quantity("40Gi")) >= 0' in request["exactly"]["selectors"][0]["cel"]["expression"]
    assert document["spec"]["devices"]["constraints"] == [
        {"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/numaNode"}
    ]
    assert fits(run) == (6, 13, 10)


def test_eighty_gib_is_more_than_an_h100_has(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "memory>=80Gi", "--demo")
    assert fits(run)[2] == 0
    assert "Just below 80Gi and not taken is 81559Mi" in run.out
    assert "NVIDIA H100 PCIe 81559Mi" in dractl("generate", "claim", "t", "--gpu", "memory>=80Gi").out


def test_alternatives_in_their_order(dractl):
    (request,) = requests(dractl("generate", "claim", "t", "--gpu", "h100*2", "--fallback", "a100,l40s*4", "--demo"))
    assert [(one["name"], one["count"]) for one in request["firstAvailable"]] == [("h100", 2), ("a100", 2), ("l40s", 4)]


def test_a_share_says_that_the_fleet_has_nothing_to_share(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "l40s", "--share", "10Gi", "--demo")
    (request,) = requests(run)
    assert request["exactly"]["capacity"] == {"requests": {"memory": "10Gi"}}
    assert "each claim takes a whole one" in run.out.replace("\n# ", " ")


def test_mig_profile_and_its_class(dractl):
    (request,) = requests(dractl("generate", "claim", "t", "--mig", "1g.5gb*2", "--demo"))
    assert request["exactly"]["deviceClassName"] == "mig.nvidia.com"
    assert request["exactly"]["selectors"][0]["cel"]["expression"].endswith('.profile == "1g.5gb"')
    missing = dractl("generate", "claim", "t", "--mig", "1g.10gb", "--demo")
    assert "The fleet has no MIG device 1g.10gb; there are 1g.5gb, 3g.20gb and 7g.40gb" in missing.out


def test_cpus_come_from_one_group(dractl):
    run = dractl("generate", "claim", "t", "--cpu", "16", "--numa", "same", "--demo")
    (request,) = requests(run)
    assert request["exactly"]["capacity"] == {"requests": {"dra.cpu/cpu": "16"}}
    assert request["exactly"]["count"] == 1
    assert "constraints" not in made(run)[0]["spec"]["devices"]


def test_words_are_whole_words(dractl):
    (request,) = requests(dractl("generate", "claim", "t", "--gpu", "a10"))
    expression = request["exactly"]["selectors"][0]["cel"]["expression"]
    pattern = re.search(r'matches\("(.*)"\)', expression)[1]
    assert re.search(pattern, "nvidia a10")
    assert not re.search(pattern, "nvidia a100-sxm4-40gb")
    assert not re.search(pattern, "nvidia a10g")


def test_names_follow_the_fleet(dractl):
    (request,) = requests(
        dractl("generate", "claim", "t", "--gpu", "architecture=hopper driverVersion>=580.082.07", "--demo")
    )
    expression = request["exactly"]["selectors"][0]["cel"]["expression"]
    assert '.architecture == "Hopper"' in expression
    assert 'semver("580.82.7")' in expression


def test_an_attribute_that_drivers_do_not_share(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "intel*2", "--nic", "rdma*2", "--same", "numa")
    assert (run.code, run.out) == (2, "")
    assert "gpu.intel.com none, dra.net" in run.err.replace(" and ", ", ")


def test_json_has_the_object_alone_and_the_fit_on_stderr(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "l40s", "--demo", "-o", "json")
    assert read_one(run.out)["kind"] == "ResourceClaim"
    assert run.out.startswith("{")
    assert run.err.startswith("Fits on ")


def test_pod_and_template_belong_together(dractl):
    run = dractl("generate", "pod", "p", "-n", "ml", "--gpu", "l40s", "--command", "nvidia-smi -L", "--demo")
    template, pod = made(run)
    assert pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == template["metadata"]["name"]
    assert pod["spec"]["containers"][0]["resources"]["claims"] == [{"name": "devices"}]
    assert {one["metadata"]["namespace"] for one in (template, pod)} == {"ml"}
    assert fits(run)[2] > 0


def test_a_class_takes_what_it_says(dractl):
    run = dractl("generate", "deviceclass", "big", "--gpu", "a100 memory>=16Gi", "--demo")
    made(run)
    assert fits(run) == (3, 13, 3)


def test_require_fit_prints_nothing_that_cannot_work(dractl):
    run = dractl("generate", "claim", "t", "--gpu", "a100*12", "--demo", "--require-fit")
    assert (run.code, run.out) == (1, "")
    assert "needs 12 GPUs on one node" in run.err
    busy = dractl("generate", "claim", "t", "--gpu", "h100*8", "--demo", "--require-fit")
    assert busy.code == 0
    assert fits(busy)[0] < fits(busy)[2]


@pytest.mark.parametrize(
    ("flags", "message", "hint"),
    [
        (("--gpu", "h100x"), "has nothing called h100x", "Did you mean h100?"),
        (("--gpu", "memory>=40GB"), "40GB is no quantity", "Write memory>=40Gi."),
        (("--gpu", "memory>=40"), "40 means 40 bytes", "Write memory>=40Gi."),
        (("--gpu", "h100*0"), "0 is no count", "*2"),
        (("--gpu", "h100*99"), "32 devices", "several pods"),
        (("--gpu", "a100,l40s"), "a comma", "--fallback"),
        (("--gpu", "h100*2", "--count", "3"), "has a count already", "one place"),
        (("--gpu", "index=0"), "publishes no index", "It publishes"),
        (("--gpu", "h100*2", "--align", "pcie"), "two kinds", "--same pcie"),
        (("--mig", "small"), "no MIG profile", "1g.5gb"),
        (("--cpu", "many"), "how many CPUs", "--cpu 16"),
        (("--gpu", "h100", "--share", "much"), "no amount", "10Gi"),
        (("--gpu", "h100", "--share", "tokens=5"), "no capacity tokens", "It publishes"),
        (("--gpu", "h100", "--where", "device.size > 3"), "would refuse", "option"),
        (("--device", "nothing.example.com"), "nothing is known", "There are"),
        ((), "nothing is asked for", "--gpu"),
        (("--gpu", "h100", "--require-fit"), "needs a fleet", "--demo"),
        (("--gpu", "h100", "--kubernetes", "1.33"), "does not serve", "dractl convert"),
    ],
)
def test_bad_flags_get_one_line_and_the_next_step(dractl, flags, message, hint):
    run = dractl("generate", "claim", "t", *flags)
    assert (run.code, run.out) == (2, "")
    first, second = run.err.rstrip("\n").split("\n")
    assert first.startswith("error: ")
    assert message in first
    assert hint in second


def test_asking_offers_what_the_fleet_has(dractl):
    answers = "GPU\nh100\n\n2\ny\nNIC\ny\n2\nroot\n2\n"
    run = dractl("generate", "claim", "t", "-i", "--demo", stdin=answers)
    devices = made(run)[0]["spec"]["devices"]
    assert [one["name"] for one in devices["requests"]] == ["gpu-0", "nic-0", "gpu-1", "nic-1"]
    assert "NVIDIA H100 80GB HBM3: 52 devices" in run.err
    assert fits(run)[0] > 0


def test_asking_ends_with_the_input(dractl):
    run = dractl("generate", "claim", "-i", "--demo", stdin="")
    assert run.code == 2
    assert "the input ended" in run.err


WORDS = st.sampled_from(
    ["h100", "a100", "l40s", "any", "memory>=16Gi", "memory>=9000Gi", "hopper", "rdma", "nvidia", "amd", "mi300x",
     "architecture!=Ampere", "driverVersion>=580", "profile=1g.5gb", "numa=0", "x y z", "memory>=", "type=gpu",
     "é", "'"]
)  # fmt: skip
COUNTS = st.sampled_from(["", "*1", "*2", "*8", "*all", "*33", "*x"])
WISH = st.builds(lambda words, number: " ".join(words) + number, st.lists(WORDS, max_size=2), COUNTS)
MIG = st.sampled_from(["1g.5gb", "3g.20gb*2", "1g.5gb.me", "9z"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.fixed_dictionaries(
        {},
        optional={
            "--gpu": WISH,
            "--nic": st.sampled_from(["rdma", "rdma*2", "2", "state=up"]),
            "--mig": MIG,
            "--cpu": st.sampled_from(["4", "16", "0", "999"]),
            "--count": st.sampled_from(["1", "2", "40"]),
            "--fallback": st.sampled_from(["a100", "a100,l40s", ",", "nothing"]),
            "--same": st.sampled_from(["numa", "pcie", "productName", "nothing"]),
            "--align": st.sampled_from(["pcie", "numa"]),
            "--distinct": st.sampled_from(["pcie", "uuid"]),
            "--share": st.sampled_from(["10Gi", "memory=1Gi", "x"]),
            "--tolerate": st.sampled_from(["gpu.nvidia.com/xid", "/"]),
        },
    ),
    fleet=st.booleans(),
)
def test_any_flags_give_a_valid_claim_or_a_clear_refusal(dractl, data, fleet):
    flags = [word for pair in data.items() for word in pair]
    run = dractl("generate", "claim", "t", *flags, *(["--demo"] if fleet else []))
    if run.code == 0:
        made(run)
        assert not fleet or "Fits on " in run.out
    else:
        assert (run.code, run.out) == (2, "")
        assert len(run.err.rstrip("\n").split("\n")) == 2, run.err
        assert "dractl failed" not in run.err
