//! The language server, as editors see it: over its real pipes, with what each editor told of itself.

mod chosen;
mod client;
mod dies;
mod documented;
mod forms;
mod hints;
mod hostile;
mod in_editor;
mod lenses;
mod moving;
mod over;
mod places;
mod restoring;
mod settings;
mod shapes;
mod unsaved;
mod waiting;
mod watching;
mod workday;
