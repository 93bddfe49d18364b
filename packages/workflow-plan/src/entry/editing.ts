// Entry point `./editing`: plans in an editor. Does no I/O and runs in browsers.

export { editedText, planEditing } from "../editing/editing.ts";
