import {
  claudeLogin,
  Handle,
  prepareInRun,
  type Program,
  programOf,
  type Shown,
  type Wall,
} from "@uncaged/workflow/sandbox";
import { mkdirSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { codeOf, insideEnv, insidePaths } from "../sandbox/launch.ts";
import { LimitWatch } from "./limit-watch.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { CheckedSandbox } from "./view.ts";
import {
  commandMissing,
  folderNotOpened,
  folderReplaced,
  imageWithoutBun,
  noSandbox,
} from "./errors.ts";

/** A command line in a sandbox: the words before the command's arguments, and the cleanup of leftover processes. */
export type Launch = {
  argv: string[];
  env: Record<string, string>;
  /** Opens the descriptors that the process gets from number 3 on. Called for each start. */
  descriptors: () => number[];
  /** The folder for messages, as the command sees it. */
  ipc: string | null;
  /** Watches the limits of the started process. */
  onStarted: (pid: number) => void;
  /** Aborted when the process exceeds a limit, with an error that names the limit. */
  exceeded: AbortSignal;
  end: () => Promise<string[]>;
};

/** A prepared start, before its limits are watched. */
type Prepared = Omit<Launch, "onStarted" | "exceeded">;

/** The part of a sandbox that is specific to one command. */
export type LaunchRequest = {
  /** A command of the host or of the image, or a command line inside the sandbox. */
  command: string | readonly string[];
  env: Record<string, string>;
  /** The folder of the run, and the name of the step's home in it. */
  run: string;
  step: string;
  /** The folder for messages, with `input` and `output`; null without a folder. */
  ipc: string | null;
  /** Folders of additional programs that the command starts. */
  programs: readonly string[];
  /** Variables with different values inside the sandbox. */
  set?: Readonly<Record<string, string>>;
  /** Files to create inside the sandbox before the command starts. */
  files?: readonly { content: string; to: string }[];
  /** Called for each refused address that the step tried to reach. */
  onRefused?: (target: string, reason: string) => void;
};

/**
 * Prepares the start of a command in a checked sandbox. Returns null without a sandbox.
 * @throws ConfigError
 */
export async function launchIn(
  checked: CheckedSandbox,
  request: LaunchRequest,
): Promise<Launch | null> {
  const { mounts, project, sandbox, settings } = checked;
  if (sandbox.kind === "off") return null;
  const { run, step } = request;
  const prepared = await prepare(checked, request);
  const watch = new LimitWatch({
    limits: settings,
    folders: [
      join(run, "work"),
      join(run, "homes", step),
      ...(request.ipc === null ? [] : [join(request.ipc, "output")]),
    ],
    disks: [
      ...(project.access === "read-write" ? [project.path] : []),
      ...mounts.filter(({ readonly }) => !readonly).map(({ hostPath }) => hostPath),
    ],
  });
  return {
    ...prepared,
    onStarted: (pid) => watch.start(pid),
    exceeded: watch.exceeded,
    async end() {
      watch.stop();
      return await prepared.end();
    },
  };
}

async function prepare(
  { hidden, mounts, network, project, sandbox }: CheckedSandbox,
  request: LaunchRequest,
): Promise<Prepared> {
  const { env, files = [], onRefused, programs, set = {}, step } = request;
  const { container } = sandbox;
  const name = `uncaged-${basename(request.run)}-${step}-${crypto.randomUUID()}`;
  const wall = wallOf(sandbox, name);
  if (container && !container.runtime.isOwn && programs.length > 0) {
    throw imageWithoutBun(container.image);
  }
  for (const folder of ["work", `homes/${step}`])
    mkdirSync(join(request.run, folder), { recursive: true, mode: 0o700 });
  // A link may lead to the host's folders, for example in a home directory.
  const run = realpathSync(request.run);
  const ipc = request.ipc === null ? null : realpathSync(request.ipc);
  const program = container ? programOfImage(request.command) : programOfHost(request);
  using opened = new DisposableStack();
  const show = (from: string, to: string, isWritable: boolean): Shown => {
    const handle = opened.use(openAt(from));
    return { handle, to, isWritable };
  };
  const folders = [
    show(project.path, insidePaths.project, project.access === "read-write"),
    ...mounts.map(({ containerPath, hostPath, readonly }) =>
      show(hostPath, containerPath, !readonly),
    ),
  ];
  const ownFolders = [
    show(join(run, "work"), insidePaths.work, true),
    show(join(run, "homes", step), insidePaths.home, true),
    ...(ipc === null
      ? []
      : [
          show(join(ipc, "input"), `${insidePaths.ipc}/input`, false),
          show(join(ipc, "output"), `${insidePaths.ipc}/output`, true),
        ]),
  ];
  const started = await prepareInRun(
    { ...wall, run, limit: sandbox.argv },
    {
      ...{ folders, ownFolders, hidden, network, onRefused },
      ...{ command: program.argv, commands: program.commands },
      cwd: insidePaths.project,
      env: { ...env, ...sandbox.env },
      unset: Object.keys(sandbox.env ?? {}),
      set: { ...insideEnv, ...set },
      code: [...program.needs, ...codeOf(programs)],
      files: [...files, ...claudeLogin(env, insideEnv.CLAUDE_CONFIG_DIR)],
    },
  );
  const handles = opened.move();
  return {
    ...started,
    ipc: ipc === null ? null : insidePaths.ipc,
    async end() {
      const planted = await started.end();
      handles.dispose();
      return planted;
    },
  };
}

function wallOf({ bubblewrap, container }: Sandbox, name: string): Wall {
  if (container !== null) return { container, name };
  if (bubblewrap !== null) return { bubblewrap };
  throw noSandbox();
}

/**
 * Opens a folder by the path at which it was checked.
 * @throws ConfigError if the path now leads elsewhere.
 */
function openAt(path: string): Handle {
  let handle: Handle;
  try {
    handle = Handle.open(path);
  } catch (cause) {
    throw folderNotOpened(path, cause);
  }
  if (handle.path === path && handle.isFolder) return handle;
  handle.close();
  throw folderReplaced(path);
}

type InsideProgram = Pick<Program, "needs" | "commands"> & { argv: readonly string[] };

/**
 * Finds a command of the host with all the folders that it needs.
 * @throws ConfigError
 */
function programOfHost({ command, env }: Pick<LaunchRequest, "command" | "env">): InsideProgram {
  if (typeof command !== "string") return programOfImage(command);
  const program = programOf(command, env);
  if (program !== null) return { ...program, argv: [program.path] };
  throw commandMissing(command);
}

const programOfImage = (command: LaunchRequest["command"]): InsideProgram => ({
  ...{ needs: [], commands: [] },
  argv: typeof command === "string" ? [basename(command)] : command,
});
