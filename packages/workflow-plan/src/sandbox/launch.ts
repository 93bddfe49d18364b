import { outermost } from "@uncaged/workflow/sandbox";
import { realpathSync } from "node:fs";

/** The paths of a step's files inside the sandbox, the same in every sandbox. */
export const insidePaths = {
  project: "/workspace/project",
  work: "/workspace/work",
  home: "/workspace/home",
  ipc: "/workspace/ipc",
} as const;

/** Variables with different values inside the sandbox. */
export const insideEnv = {
  HOME: insidePaths.home,
  TMPDIR: "/tmp",
  CLAUDE_CONFIG_DIR: `${insidePaths.home}/.claude`,
};

/** Returns the folders of programs with links resolved, without nested folders. */
export const codeOf = (folders: readonly string[]): string[] =>
  outermost(folders.map((path) => realpathSync(path)));
