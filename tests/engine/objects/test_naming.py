from engine.input.cleaning import without_nulls
from engine.kernel.rng import Streams
from engine.objects.kinds import spelled
from engine.objects.naming import (
    ALPHABET,
    fnv32,
    fnv32a,
    generated_name,
    revision_hash,
    safe_encode,
)

# What Kubernetes 1.20 stored for a StatefulSet of one nginx container with one claim.
RECORDED = {
    "spec": {
        "template": {
            "$patch": "replace",
            "metadata": {"creationTimestamp": None, "labels": {"app": "db"}},
            "spec": {
                "containers": [
                    {
                        "image": "nginx:1.19",
                        "imagePullPolicy": "IfNotPresent",
                        "name": "c",
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "volumeMounts": [{"mountPath": "/data", "name": "data"}],
                    }
                ],
                "dnsPolicy": "ClusterFirst",
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "securityContext": {},
                "terminationGracePeriodSeconds": 10,
            },
        }
    }
}


def test_revision_has_the_hash_that_kubernetes_gives_it() -> None:
    assert revision_hash(RECORDED, 0) == "fcf88db9"


def test_nulls_do_not_change_a_template_hash() -> None:
    assert revision_hash(without_nulls(RECORDED), 0) == "fcf88db9"


def test_template_hashes_are_fnv_hashes() -> None:
    assert fnv32(b"") == fnv32a(b"") == 0x811C9DC5
    assert fnv32(b"foobar") == 0x31F0B262
    assert fnv32a(b"foobar") == 0xBF9CF968


def test_encoded_text_uses_letters_that_make_no_words() -> None:
    assert safe_encode("0123456789") == "".join(ALPHABET[(48 + n) % 27] for n in range(10))


def test_generated_names_fit_labels_and_follow_the_seed() -> None:
    first = [generated_name("a" * 70, Streams(1).stream("pod-names")) for _ in range(2)]
    assert first[0] == first[1]
    assert len(first[0]) == 63
    assert set(first[0][-5:]) <= set(ALPHABET)


def test_kinds_are_spelled_as_kubernetes_does() -> None:
    assert [spelled(kind) for kind in ("statefulset", "CSINode", "gadget")] == [
        "StatefulSet",
        "CSINode",
        "Gadget",
    ]
