import { outermost } from "@uncaged/workflow/sandbox";
import { realpathSync } from "node:fs";

/** Where a step finds what it has, in every sandbox. */
export const insidePaths = {
  project: "/workspace/project",
  work: "/workspace/work",
  home: "/workspace/home",
  ipc: "/workspace/ipc",
} as const;

/** The variables that are others inside. */
export const insideEnv = {
  HOME: insidePaths.home,
  TMPDIR: "/tmp",
  CLAUDE_CONFIG_DIR: `${insidePaths.home}/.claude`,
};

/** The folders of programs without links, those inside others left out. */
export const codeOf = (folders: readonly string[]): string[] =>
  outermost(folders.map((path) => realpathSync(path)));
