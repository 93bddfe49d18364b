import type { Environment } from "@uncaged/workflow/host";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { ConfigError } from "../error/error.ts";
import {
  bubblewrapArguments,
  codeOf,
  containerArguments,
  insideEnv,
  insidePaths,
} from "../sandbox/launch.ts";
import { programOf } from "../sandbox/program.ts";
import type { Watched } from "./limit-watch.ts";
import type { CheckedSandbox } from "./view.ts";

/** A command line in a sandbox: what stands before the command's arguments, and how what it left is ended. */
export type Launch = {
  argv: string[];
  env: Record<string, string>;
  /** Where the folder for messages is, as the command sees it. */
  ipc: string | null;
  watched: Watched;
  end: () => void;
};

/** What one command in a sandbox gets of its own. */
export type LaunchRequest = {
  command: string;
  env: Record<string, string>;
  /** The folder of the run, which its steps may write to, and the name of that of the step's home in it. */
  run: string;
  step: string;
  ipc: string | null;
  /** Folders of programs that it starts besides. */
  programs: readonly string[];
};

/** The command line that starts a command in a checked sandbox; null without a sandbox. @throws ConfigError */
export function launchIn(checked: CheckedSandbox, request: LaunchRequest): Launch | null {
  const { hidden, mounts, project, sandbox, settings } = checked;
  if (sandbox.kind === "off") return null;
  const { command, env, ipc, programs, run, step } = request;
  const work = join(run, "work");
  const home = join(run, "homes", step);
  for (const folder of [work, home]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  lendLogin(home, env);
  const view = {
    project: { path: project.path, isWritable: project.access === "read-write" },
    ...{ work, home, ipc, mounts, hidden },
  };
  const disks = [
    ...(view.project.isWritable ? [project.path] : []),
    ...mounts.filter(({ readonly }) => !readonly).map(({ hostPath }) => hostPath),
  ];
  const watched = { limits: settings, folders: [work, home], disks };
  const inside = ipc === null ? null : insidePaths.ipc;
  if (sandbox.kind === "container") {
    const name = `uncaged-${basename(run)}-${step}-${crypto.randomUUID().slice(0, 8)}`;
    const shown = { ...view, programs: codeOf([], programs) };
    const given = Object.keys(env).filter(
      (one) => one !== "PATH" && !Object.hasOwn(insideEnv, one),
    );
    const [engine = ""] = sandbox.argv;
    return {
      argv: [
        engine,
        ...containerArguments(shown, settings, { name, env: given }),
        basename(command),
      ],
      ...{ env, ipc: inside, watched },
      // Its engine runs it on when the command that asked for it is killed.
      end: () => execFile(engine, ["kill", name], { timeout: 10_000 }, () => undefined).unref(),
    };
  }
  const program = programOf(command, env);
  if (program === null) {
    throw new ConfigError(`the command ${JSON.stringify(command)} is not found on PATH`, {
      hint: "install it, or set PATH so that it is found",
    });
  }
  const shown = { ...view, programs: codeOf([program], programs) };
  return {
    argv: [
      ...sandbox.argv,
      ...Object.keys(sandbox.env ?? {}).flatMap((name) => ["--unsetenv", name]),
      ...bubblewrapArguments(shown, settings),
      program.path,
    ],
    env: { ...env, ...sandbox.env, ...insideEnv },
    ...{ ipc: inside, watched },
    end: () => undefined,
  };
}

/** An agent that was logged in by hand has its login in a file, which a step's own home gets. */
function lendLogin(home: string, env: Environment): void {
  if (env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN) return;
  const from = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude"), loginFile);
  if (!existsSync(from)) return;
  const folder = join(home, ".claude");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  copyFileSync(from, join(folder, loginFile));
}

const loginFile = ".credentials.json";

/**
 * The folder of a run's steps in the user's cache: what they write for each other, and the homes in which their agents keep
 * their sessions. It is no part of the storage root, for what a step writes may be a secret.
 */
export const runFolder = (env: Environment, threadId: string): string =>
  join(runsFolder(env), threadId);

function runsFolder(env: Environment): string {
  const cache = env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), ".cache");
  return join(cache, "uncaged-workflow", "runs");
}

/** What the names of the folders of a plan home's check scripts begin with. */
export const checkPrefix = (planHome: string): string =>
  `check-${createHash("sha256").update(planHome).digest("hex").slice(0, 12)}-`;

/** The names of the folders of all runs, of whatever storage root. */
export function runFolders(env: Environment): string[] {
  try {
    return readdirSync(runsFolder(env));
  } catch {
    return [];
  }
}

/** Removes the folder of a run. What a process that is about to end still writes there, the next recovery removes. */
export function removeRunFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It is a cache, and no reason for a run to fail.
  }
}
