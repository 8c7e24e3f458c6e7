//! Refuses components that call each other in a circle.

use std::collections::VecDeque;

use super::{Target, Wirer};
use crate::problem::Location;

impl Wirer<'_> {
    /// Refuse components that call each other in a circle. Each call keeps an instance until it ends, so under load
    /// all instances would wait for one another.
    pub(super) fn cycles(&mut self) {
        let mut calls = vec![Vec::new(); self.shapes.len()];
        for link in &self.wiring.links {
            if let Target::Provider(provider) | Target::Secrets(provider) = link.target {
                calls[link.importer].push(provider);
            }
        }
        for (at, component) in self.spec.components.iter().enumerate() {
            let Some(circle) = circle(&calls, at) else {
                continue;
            };
            // A circle is reported once, by its first component.
            if circle.iter().any(|&other| other < at) {
                continue;
            }
            let mut names: Vec<&str> = circle
                .iter()
                .map(|&other| &*self.spec.components[other].name)
                .collect();
            names.push(&component.name);
            self.problem(
                "circle",
                Location::Component(component.name.to_string()),
                format!("calls itself in a circle: {}", names.join(" → ")),
                "let one of them publish an event instead of calling".into(),
            );
        }
    }
}

/// The shortest circle of calls from a component back to itself.
fn circle(calls: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from: Vec<Option<usize>> = vec![None; calls.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        if calls[at].contains(&start) {
            let mut way = vec![at];
            while let Some(before) = way.last().and_then(|&last| came_from[last]) {
                way.push(before);
            }
            way.reverse();
            return Some(way);
        }
        for &next in &calls[at] {
            if next != start && came_from[next].is_none() {
                came_from[next] = Some(at);
                waiting.push_back(next);
            }
        }
    }
    None
}
