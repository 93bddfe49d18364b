// Entry point `./editing`: step workflows in an editor. Does no I/O and runs in browsers.

export { stepsEditing } from "../editing/editing.ts";
export { drawSteps } from "../editing/drawing.ts";
export { renameStep } from "../editing/edits.ts";
export { childPathOf } from "../editing/steps.ts";
export { type KnownTool, toolsOf } from "../editing/tools.ts";
