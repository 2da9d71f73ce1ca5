//! Deployments on a host of files: a sysfs tree whose kernel is played here, and programmers that are shell scripts.

mod documents;
mod failures;
mod farm;
mod host;
mod ownership;
mod programmers;
mod sequence;
