//! The layering rule: a crate uses only crates above it in one list, so that the list is the map of the project.
//!
//! The first three are the ground that all else stands on, and each must be usable without the other two.

use std::collections::BTreeMap;

use crate::workspace::Metadata;

/// Every layer there is or will be, the ground first.
pub const LAYERS: [&str; 15] = [
    "explore",
    "disk",
    "vfs",
    "check",
    "models",
    "libs",
    "posix",
    "guest",
    "host",
    "reffs",
    "ondisk",
    "guard",
    "cover",
    "swarm",
    "shakedown",
];

/// Layers that use no other crate of the workspace: the search knows no file system, the disk no files, and the
/// vocabulary neither search nor disk.
pub const GROUND: [&str; 3] = ["explore", "disk", "vfs"];

/// Crates outside the layers, which use no layer: the tasks see Shakedown as a program only.
pub const OUTSIDE: [&str; 1] = ["xtask"];

/// Which crate of the workspace uses which others of it.
pub type Graph = BTreeMap<String, Vec<String>>;

/// The workspace's own graph, development dependencies included.
pub fn graph(metadata: &Metadata) -> Graph {
    let is_member = |name: &str| metadata.packages.iter().any(|package| package.name == name);
    let uses = |package: &crate::workspace::Package| {
        let names = package.dependencies.iter().map(|dependency| dependency.name.clone());
        (package.name.clone(), names.filter(|name| is_member(name)).collect())
    };
    metadata.packages.iter().map(uses).collect()
}

/// Every way in which a graph breaks the rule, each as a sentence; none when it keeps it.
pub fn breaches(graph: &Graph) -> Vec<String> {
    graph.iter().flat_map(|(user, dependencies)| breaches_of(user, dependencies)).collect()
}

fn breaches_of(user: &str, dependencies: &[String]) -> Vec<String> {
    let level = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    if OUTSIDE.contains(&user) {
        return dependencies
            .iter()
            .map(|one| format!("{user} stands outside the layers and must not use {one}"))
            .collect();
    }
    let Some(own_level) = level(user) else {
        return vec![format!("{user} is not in the list of layers")];
    };
    let complaint = |one: &String| match level(one) {
        None => Some(format!("{user} uses {one}, which is not in the list of layers")),
        Some(_) if GROUND.contains(&user) => Some(format!("{user} is ground and must not use {one}")),
        Some(level) if level >= own_level => Some(format!("{user} must not use {one}, which is below it")),
        Some(_) => None,
    };
    dependencies.iter().filter_map(complaint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches_in(edges: &[(&str, &[&str])]) -> Vec<String> {
        let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        breaches(&edges.iter().map(|(user, used)| ((*user).to_owned(), own(used))).collect())
    }

    #[test]
    fn a_graph_that_only_looks_up_is_accepted() {
        let right: &[(&str, &[&str])] = &[
            ("explore", &[]),
            ("disk", &[]),
            ("vfs", &[]),
            ("check", &["explore", "disk", "vfs"]),
            ("shakedown", &["check", "explore"]),
            ("xtask", &[]),
        ];
        assert_eq!(breaches_in(right), Vec::<String>::new());
    }

    #[test]
    fn each_wrong_edge_is_named() {
        let wrong: &[(&str, &[&str], &str)] = &[
            ("explore", &["vfs"], "explore is ground and must not use vfs"),
            ("vfs", &["disk"], "vfs is ground and must not use disk"),
            ("check", &["vfs", "models"], "check must not use models, which is below it"),
            ("models", &["models"], "models must not use models, which is below it"),
            ("check", &["xtask"], "check uses xtask, which is not in the list of layers"),
            ("xtask", &["explore"], "xtask stands outside the layers and must not use explore"),
            ("stray", &[], "stray is not in the list of layers"),
        ];
        for (user, used, complaint) in wrong {
            assert_eq!(breaches_in(&[(user, used)]), [*complaint]);
        }
    }
}
