//! Integration tests of `report`, one program: a module for each subject.

mod browser;
mod chromium;
mod compare;
mod damaged;
mod digest;
mod figures;
mod flame;
mod pages;
mod report;
mod runs;
mod simulated;
