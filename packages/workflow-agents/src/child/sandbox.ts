import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import type { ThreadContext } from "@uncaged/workflow";
import {
  bubblewrapFor,
  claudeLogin,
  clusterFolders,
  endpointOf,
  Handle,
  isInside,
  modelEndpoints,
  placeOf,
  prepareInRun,
  privateIn,
  programOf,
  realOrNull,
  removeRunFolder,
  runFolder,
  runsFolder,
  type SandboxMode,
  sandboxMissing,
  systemPaths,
} from "@uncaged/workflow/sandbox";
import {
  invalidEndpoint,
  invalidNetwork,
  invalidSandbox,
  missingCommand,
  missingFolder,
  needsSandbox,
} from "./errors.ts";

/** Options of a command's sandbox and of its access to files and network. */
export type SandboxOptions = {
  /**
   * Whether the command runs in a sandbox of bubblewrap: never (`off`, the default), if bubblewrap works (`auto`), or
   * always, with an error if bubblewrap does not work (`required`).
   */
  sandbox?: SandboxMode;
  /** `none` disables the network. The default (`on`) allows public addresses and the configured model's address. */
  network?: "on" | "none";
  /** Local and private addresses that the command may also reach, each as `host:port`. */
  allow?: readonly string[];
};

/** A command to run in a sandbox. */
type Confined = {
  /** The program: a name on PATH, or a path. */
  program: string;
  /** The thread's directory, and the working directory within it. The command cannot access other files of the user. */
  top: string;
  cwd: string;
  /** The complete environment of the command, and the environment of the thread. */
  env: Readonly<Record<string, string>>;
  threadEnv: Readonly<Record<string, string>>;
  thread: Pick<ThreadContext, "threadId" | "worktrees"> | null;
  /** The name of the command's home directory among the thread's home directories. */
  home: string;
  /** Whether the command gets Claude Code's login. */
  isClaude?: boolean;
  warn: (message: string) => void;
};

/**
 * The start of a sandboxed command: `argv` replaces the program. The caller must call `end` after the command has
 * ended.
 */
export type Sandboxed = {
  argv: string[];
  env: Record<string, string>;
  descriptors: () => number[];
  end: () => Promise<void>;
};

const insideHome = "/workspace/home";

/** Checks the options of a sandbox. @throws WorkflowError `code` for contradictory or invalid options. */
export function checkSandbox(
  { allow, network, sandbox = "off" }: SandboxOptions,
  code: string,
): void {
  if (!["off", "auto", "required"].includes(sandbox)) throw invalidSandbox(code, sandbox);
  if (network !== undefined && !["on", "none"].includes(network))
    throw invalidNetwork(code, network);
  const wrong = allow?.find((one) => endpointOf(one) === null);
  if (wrong !== undefined) throw invalidEndpoint(code, wrong);
  if (sandbox === "off" && (network !== undefined || allow !== undefined)) throw needsSandbox(code);
}

/**
 * Prepares the start of a command in a sandbox. The command has access to the system, its own code, the thread's
 * directory, and a home directory that lasts as long as the thread. Returns null if the command runs without a sandbox,
 * and warns unless the sandbox is off.
 *
 * @throws WorkflowError `SANDBOX_MISSING` if a sandbox or `network: "none"` is required but unavailable;
 *   `COMMAND_MISSING` or `COMMAND_REFUSED` if the command cannot be started.
 */
export async function sandboxed(
  { allow = [], network = "on", sandbox = "off" }: SandboxOptions,
  confined: Confined,
): Promise<Sandboxed | null> {
  if (sandbox === "off") return null;
  const { env, home, isClaude = false, program: name, thread, threadEnv, warn } = confined;
  const [top, cwd] = [realOrNull(confined.top), realOrNull(confined.cwd)];
  if (top === null || cwd === null) throw missingFolder(confined.cwd);
  const isRequired = sandbox === "required" || network === "none";
  const without = (problem: string): null => {
    if (isRequired) throw sandboxMissing(problem);
    warn(`the command runs without a sandbox: ${problem}`);
    return null;
  };
  if (top === sep) return without("the thread's directory is the whole file system");
  const bubblewrap = await bubblewrapFor("auto", env, [top]);
  if (typeof bubblewrap === "string") return without(bubblewrap);
  if (process.versions.bun === undefined) return without("the workflow is not run by Bun");
  const program = programAt(name.includes(sep) ? resolve(cwd, name) : name, env, top);
  if (program === null) throw missingCommand(name);
  const hidden = hiddenFrom(top, thread, threadEnv);
  const lost = program.needs.find(
    (path) => hidden.some((one) => isInside(path, one)) && isInside(path, top),
  );
  if (lost !== undefined)
    return without(`the directory ${top} has the command's code in a hidden folder`);

  const run = runFolder(threadEnv, thread?.threadId ?? `call-${crypto.randomUUID()}`);
  const homes = join(run, "homes", home);
  mkdirSync(homes, { recursive: true, mode: 0o700 });
  using opened = new DisposableStack();
  const show = (path: string, to: string) => {
    return { handle: opened.use(Handle.open(path)), to, isWritable: true };
  };
  const config = `${insideHome}/.claude`;
  const refused = new Set<string>();
  const started = await prepareInRun(
    { bubblewrap, run, limit: [] },
    {
      folders: [show(top, top)],
      ownFolders: [show(homes, insideHome)],
      ...{
        command: [program.at],
        commands: program.commands,
        code: program.needs,
        cwd,
        env,
        hidden,
      },
      set: {
        ...{ HOME: insideHome, TMPDIR: "/tmp", PWD: cwd },
        ...(isClaude && { CLAUDE_CONFIG_DIR: config }),
      },
      files: isClaude ? claudeLogin({ ...threadEnv, ...env }, config) : [],
      network: network === "none" ? null : { allow: [...allow, ...modelEndpoints(env)] },
      onRefused(target, reason) {
        if (refused.has(target)) return;
        refused.add(target);
        warn(`the sandbox refused a connection to ${target}: ${reason}`);
      },
    },
  );
  const handles = opened.move();
  return {
    ...started,
    async end() {
      const planted = await started.end();
      handles.dispose();
      for (const path of planted) warn(`removed ${path}: git would have run programs by it`);
      if (thread === null) removeRunFolder(run);
    },
  };
}

/**
 * Returns a program's path inside the sandbox: the path in `PATH` if the sandbox shows it, otherwise the path with
 * links resolved.
 */
function programAt(name: string, env: Confined["env"], top: string) {
  const program = programOf(name, env);
  const place = placeOf(name, env);
  if (program === null || place === null) return null;
  const isShown = [top, ...systemPaths].some((folder) => isInside(place.at, folder));
  return { ...program, at: isShown ? place.at : place.path };
}

/** Returns the paths in the thread's directory that a command must not see: private files and the storage root. */
function hiddenFrom(
  top: string,
  thread: Confined["thread"],
  threadEnv: Confined["threadEnv"],
): string[] {
  // The folder of a thread's worktrees is <root>/worktrees/<thread>.
  const root = thread?.worktrees === undefined ? [] : [dirname(dirname(thread.worktrees))];
  const home = threadEnv.HOME ?? homedir();
  return [...root, ...privateIn(home), ...clusterFolders(threadEnv), runsFolder(threadEnv)].flatMap(
    (path) => {
      const real = realOrNull(path);
      return real === null || isInside(top, real) ? [] : [real];
    },
  );
}
