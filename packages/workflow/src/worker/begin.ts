import { compileLate } from "../system/jit.ts";

// The first that a worker's process does: its other modules are evaluated after this one. `main.ts` has it compile as
// usual again before a bundle's code runs.
compileLate();
