import type { Environment } from "@uncaged/workflow/host";
import {
  Handle,
  prepareSandbox,
  type Program,
  programOf,
  type Shown,
} from "@uncaged/workflow/sandbox";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { ConfigError } from "../error/error.ts";
import { codeOf, containerArguments, insideEnv, insidePaths } from "../sandbox/launch.ts";
import type { CheckedSandbox } from "./view.ts";

/** A command line in a sandbox: what stands before the command's arguments, and how what it left is ended. */
export type Launch = {
  argv: string[];
  env: Record<string, string>;
  /** Opens the descriptors that the process gets from number 3 on, for each start anew. */
  descriptors: () => number[];
  /** Where the folder for messages is, as the command sees it. */
  ipc: string | null;
  end: () => Promise<void>;
};

/** What one command in a sandbox gets of its own. */
export type LaunchRequest = {
  /** A command of the host, or a command line inside. */
  command: string | readonly string[];
  env: Record<string, string>;
  /** The folder of the run, and the name of the step's home in it. */
  run: string;
  step: string;
  /** The folder for messages, with `input` and `output`; null for none. */
  ipc: string | null;
  /** Folders of programs that it starts besides. */
  programs: readonly string[];
  /** Files that are put in their places inside before it starts. */
  files?: readonly { content: string; to: string }[];
  /** Called for each address that the step may not reach, and wanted to. */
  onRefused?: (target: string, reason: string) => void;
};

/** Prepares the start of a command in a checked sandbox; null without a sandbox. @throws ConfigError */
export async function launchIn(
  checked: CheckedSandbox,
  request: LaunchRequest,
): Promise<Launch | null> {
  const { kind } = checked.sandbox;
  if (kind === "off") return null;
  const { run, step } = request;
  for (const folder of ["work", `homes/${step}`, "launch"])
    mkdirSync(join(run, folder), { recursive: true, mode: 0o700 });
  return kind === "container"
    ? launchContainer(checked, request)
    : await launchBubblewrap(checked, request);
}

async function launchBubblewrap(
  { hidden, mounts, network, project, sandbox }: CheckedSandbox,
  { command, env, files = [], ipc, onRefused, programs, run, step }: LaunchRequest,
): Promise<Launch> {
  const program = typeof command === "string" ? programOf(command, env) : insideProgram(command);
  if (program === null || sandbox.bubblewrap === null) {
    throw new ConfigError(`the command ${JSON.stringify(command)} is not found on PATH`, {
      hint: "install it, or set PATH so that it is found",
    });
  }
  using opened = new DisposableStack();
  const show = (from: string, to: string, isWritable: boolean): Shown => {
    const handle = opened.use(openAt(from));
    return { handle, to, isWritable };
  };
  const folders = [
    show(project.path, insidePaths.project, project.access === "read-write"),
    show(join(run, "work"), insidePaths.work, true),
    show(join(run, "homes", step), insidePaths.home, true),
    ...(ipc === null
      ? []
      : [
          show(join(ipc, "input"), `${insidePaths.ipc}/input`, false),
          show(join(ipc, "output"), `${insidePaths.ipc}/output`, true),
        ]),
    ...mounts.map(({ containerPath, hostPath, readonly }) =>
      show(hostPath, containerPath, !readonly),
    ),
  ];
  using launches = Handle.open(join(run, "launch"));
  const name = crypto.randomUUID();
  launches.folder(name).close();
  const started = await prepareSandbox(
    { bubblewrap: sandbox.bubblewrap, folder: join(run, "launch", name), limit: sandbox.argv },
    {
      ...{ folders, hidden, network, onRefused, commands: program.commands },
      command: typeof command === "string" ? [program.path] : command,
      cwd: insidePaths.project,
      env: { ...env, ...sandbox.env },
      unset: Object.keys(sandbox.env ?? {}),
      set: insideEnv,
      code: [...program.needs, ...codeOf(programs)],
      files: [...files, ...loginOf(env)],
    },
  );
  const handles = opened.move();
  return {
    ...started,
    ipc: ipc === null ? null : insidePaths.ipc,
    async end() {
      handles.dispose();
      await started.end();
      using folder = Handle.open(join(run, "launch"));
      folder.remove(name);
    },
  };
}

/** Opens a folder by the path at which it was checked. @throws ConfigError when the path leads elsewhere by now. */
function openAt(path: string): Handle {
  let handle: Handle;
  try {
    handle = Handle.open(path);
  } catch (cause) {
    throw new ConfigError(`the folder ${path} can't be opened`, {
      cause,
      hint: "see that it is there",
    });
  }
  if (handle.path === path && handle.isFolder) return handle;
  handle.close();
  throw new ConfigError(`the folder ${path} was replaced while a step was started`, {
    hint: "end what replaces it, and retry the run",
  });
}

function launchContainer(
  { hidden, mounts, project, sandbox, settings }: CheckedSandbox,
  { command, env, ipc, programs, run, step }: LaunchRequest,
): Launch {
  const view = {
    project: { path: project.path, isWritable: project.access === "read-write" },
    ...{ work: join(run, "work"), home: join(run, "homes", step), ipc, mounts, hidden },
  };
  const name = `uncaged-${basename(run)}-${step}-${crypto.randomUUID().slice(0, 8)}`;
  const shown = { ...view, programs: codeOf(programs) };
  const given = Object.keys(env).filter((one) => one !== "PATH" && !Object.hasOwn(insideEnv, one));
  const [engine = ""] = sandbox.argv;
  return {
    argv: [
      engine,
      ...containerArguments(shown, settings, { name, env: given }),
      ...insideCommand(command),
    ],
    ...{ env, descriptors: () => [], ipc: ipc === null ? null : insidePaths.ipc },
    // Its engine runs it on when the command that asked for it is killed.
    async end() {
      execFile(engine, ["kill", name], { timeout: 10_000 }, () => undefined).unref();
    },
  };
}

const loginFile = ".credentials.json";

const insideCommand = (command: string | readonly string[]): readonly string[] =>
  typeof command === "string" ? [basename(command)] : command;

const insideProgram = ([path = ""]: readonly string[]): Program => ({
  path,
  needs: [],
  commands: [],
});

/** The login of an agent that was logged in by hand, and its place inside. An agent with a key needs none. */
function loginOf(env: Environment): { content: string; to: string }[] {
  if (env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN) return [];
  const path = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude"), loginFile);
  if (!existsSync(path)) return [];
  const content = readFileSync(path, "utf8");
  return [{ content, to: `${insideEnv.CLAUDE_CONFIG_DIR}/${loginFile}` }];
}
