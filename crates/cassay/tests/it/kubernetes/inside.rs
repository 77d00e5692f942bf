//! Tests a run inside a Kubernetes cluster.

use super::{image, kubectl, left};
use crate::program::{Lab, wait_until};

/// A study runs in a pod, and cassay shows its output meanwhile. Then cassay copies the results
/// back. The run continues even if no command shows its output.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn a_study_runs_within_the_cluster_and_comes_home() {
    let lab = Lab::with(crate::null_target::POINT);
    let image = image();
    let run = [
        "kubernetes",
        "run",
        "study.yaml",
        "--context=admin",
        "--cpus=0.5",
        "--memory=256MiB",
    ];
    let options = ["--image", &image, "--", "--set=window.measure=5s"];
    let said = lab.cassay(&[&run[..], &options].concat());
    assert!(matches!(said.code, Some(0 | 3)), "{said}");
    said.says(&[
        "runs in the pod cassay-run-",
        "point: ",
        "the results of the job are in results",
    ]);
    let findings = lab.cassay(&["show", "latest", "--json"]).ended_with(0).json();
    assert_eq!(findings["study"], "point", "{findings:#}");
    wait_until("nothing of ours is left there", || left().is_empty());

    let wrong = lab.cassay(&["kubernetes", "run", "missing.yaml", "--image", &image]);
    wrong.ended_with(2).says(&["cannot read the study missing.yaml"]);
    let ann = [
        &[
            "kubernetes",
            "run",
            "study.yaml",
            "--context=ann",
            "--namespace=kube-public",
        ],
        &options[..2],
    ];
    let refused = lab.cassay(&ann.concat()).ended_with(1);
    refused.says(&["you may not create", "jobs.batch", "--for inside"]);

    let mut left_alone = lab.start(&[&run[..], &options].concat());
    left_alone.wait_for("runs in the pod");
    left_alone.kill();
    wait_until("it goes on and ends", || {
        let pods = kubectl(&[
            "get",
            "pods",
            "-l",
            "app.kubernetes.io/component=run",
            "-o",
            "name",
        ]);
        kubectl(&["logs", &pods]).contains("cassay-inside: ")
    });
    kubectl(&["delete", "jobs", "-l", "app.kubernetes.io/component=run"]);
    wait_until("nothing of ours is left there", || left().is_empty());
}
