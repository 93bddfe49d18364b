import { type Program, programArgument } from "../packages/workflow/src/system/programs.ts";

/*
 * Entry point of the standalone binary: the command line, or a program that the command line runs in another process.
 */
const programs: Record<Program, () => Promise<unknown>> = {
  worker: () => import("../packages/workflow/src/worker/main.ts"),
  "inspect-child": () => import("../packages/workflow/src/bundle/inspect-child.ts"),
  "build-child": () => import("../packages/workflow/src/bundle/build-child.ts"),
  "chaos-child": () => import("../packages/workflow/src/chaos/chaos-child.ts"),
  "replay-child": () => import("../packages/workflow/src/upgrade/replay-child.ts"),
};

let called: Program | null = null;
for (const program of Object.keys(programs) as Program[]) {
  if (programArgument(program) === process.argv[2]) called = program;
}
if (called) {
  process.argv.splice(2, 1);
  await programs[called]();
} else {
  const { main } = await import("../packages/cli-workflow/src/program/program.ts");
  process.exit(await main());
}
