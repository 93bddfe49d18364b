import { tried } from "./probe.ts";
import { systemProgram } from "./bubblewrap.ts";
import { bunFlags } from "../system/programs.ts";
import type { Covered, Shown } from "./view.ts";

/** How JavaScript is run inside a sandbox. */
export type Runtime = {
  argv: readonly string[];
  /** Whether it is this process's own Bun, which is shown inside. */
  isOwn: boolean;
};

/** docker or podman with an image, as they work on this machine. */
export type Container = {
  engine: string;
  isPodman: boolean;
  image: string;
  runtime: Runtime;
  /** In bytes, processors, and processes with threads, of all processes together. */
  limits: { memory: number; cpus: number; processes: number };
  /** The variables of the engine, which are not seen inside. */
  env: Record<string, string>;
};

/** Why a container can't be used. Its user has prepared it when the engine has its image. */
export type NoContainer = { problem: string; hasImage: boolean };

type Env = Readonly<Record<string, string | undefined>>;
type Wanted = Pick<Container, "image" | "limits"> & { engine: string };

/** Where this process's Bun is shown. */
export const insideBun = "/workspace/bun";

/** Runs this process's Bun inside. A standalone binary needs the variable `BUN_BE_BUN`. */
export const ownRuntime: Runtime = { argv: [insideBun, ...bunFlags], isOwn: true };
const imageRuntimes: readonly Runtime[] = [
  { argv: ["node"], isOwn: false },
  { argv: ["bun", ...bunFlags], isOwn: false },
];
const oldestNode = 18;

const startMs = 60_000;
const engineVariables =
  /^(HOME|PATH|TMPDIR|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|XDG_DATA_HOME|(DOCKER|CONTAINERS?|STORAGE)_\w+)$/;

/**
 * Finds a container engine that has an image, and what runs our launcher in it: this process's Bun, or a Node or Bun of the
 * image. Without the launcher nothing would compare the folders, place the login or relay to the proxy.
 */
export async function findContainer(
  { engine: name, image, limits }: Wanted,
  given: Env,
  writable: readonly string[] = [],
): Promise<Container | NoContainer> {
  const engine = systemProgram(name, given, writable);
  if (engine === null) return { problem: `${name} is not installed`, hasImage: false };
  const env = Object.fromEntries(
    Object.entries(given).flatMap(([variable, value]) =>
      value !== undefined && engineVariables.test(variable) ? [[variable, value]] : [],
    ),
  );
  if (!(await tried(engine, ["image", "inspect", image], { env })).isOk)
    return { problem: `${name} does not run, or has no image ${image}`, hasImage: false };
  if (process.platform !== "linux") {
    const problem = `${name} runs in a virtual machine here, where the folders of a step can't be compared`;
    return { problem, hasImage: true };
  }
  // `docker` may be podman by another name.
  const isPodman = /podman/i.test((await tried(engine, ["--version"], { env })).output);
  const problems: string[] = [];
  for (const runtime of [ownRuntime, ...imageRuntimes]) {
    const container = { engine, isPodman, image, runtime, limits, env };
    const { isOk, output, problem } = await tried(engine, probeArguments(container), {
      ...{ env, timeoutMs: startMs },
    });
    if (isOk && Number.parseInt(output, 10) >= oldestNode) return container;
    problems.push(problem);
  }
  const problem = `the image ${image} has neither node nor bun, so its network can't be filtered and its folders can't be compared: add node to the image (${name}: ${problems[0]})`;
  return { problem, hasImage: true };
}

/** The folder of a start with what covers others: an empty folder and an empty file. */
export const emptyNames = { folder: "empty", file: "nothing" } as const;

/** What a container shows. Each folder is bound by its path: the launcher compares what came of it. */
export type ContainerView = {
  name: string;
  shown: readonly Shown[];
  covered: readonly Pick<Covered, "to" | "isFolder">[];
  /** The paths of an empty folder and an empty file of the host. */
  empty: { folder: string; file: string };
  env: Readonly<Record<string, string>>;
  /** The names of variables whose values the engine's process has. */
  envNames: readonly string[];
  cwd: string;
  temporaryBytes: number;
};

/** Returns the arguments of an engine, with the launcher's runtime as the program; its own arguments go behind them. */
export function containerArguments(container: Container, view: ContainerView): string[] {
  const { isPodman, limits } = container;
  const { covered, cwd, empty, env, envNames, name, shown, temporaryBytes } = view;
  const { cpus, memory, processes } = limits;
  // An engine accepts one mount for each place. The deeper ones lie over the others.
  const mounts = new Map([
    ...shown.map(({ handle, isWritable, to }) => [to, bind(handle.path, to, isWritable)] as const),
    ...covered.map(
      ({ isFolder, to }) => [to, bind(isFolder ? empty.folder : empty.file, to, false)] as const,
    ),
  ]);
  const temporary = `/tmp:rw,exec,nosuid,nodev,mode=1777,size=${temporaryBytes}`;
  return [
    ...["run", "--rm", "--interactive", "--init", "--name", name],
    ...["--memory", String(memory), "--memory-swap", String(memory), "--cpus", String(cpus)],
    ...["--pids-limit", String(processes), ...walls(isPodman), "--tmpfs", temporary],
    ...[...mounts.values()].flatMap((mount) => ["--mount", mount]),
    // By name alone: a command line can be read by everybody.
    ...envNames.flatMap((variable) => ["--env", variable]),
    ...Object.entries(env).flatMap(([variable, value]) => ["--env", `${variable}=${value}`]),
    ...["--workdir", cwd, ...program(container)],
  ];
}

/** Tells the version of Node that a runtime offers. */
function probeArguments(container: Container): string[] {
  const own = container.runtime.isOwn
    ? ["--mount", bind(process.execPath, insideBun, false), "--env", "BUN_BE_BUN=1"]
    : [];
  const start = ["run", "--rm", ...walls(container.isPodman), ...own, "--workdir", "/"];
  return [...start, ...program(container), "--print", "process.versions.node"];
}

function walls(isPodman: boolean): string[] {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return [
    ...["--pull", "never", "--network", "none", "--read-only"],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    ...(isPodman ? ["--read-only-tmpfs=false"] : []),
    // Without it the user's own files belong to another user inside.
    ...(isPodman && uid !== 0 ? ["--userns", "keep-id"] : []),
    ...["--user", `${uid}:${gid}`],
  ];
}

function program({ image, runtime }: Container): string[] {
  const [file = "", ...flags] = runtime.argv;
  return ["--entrypoint", file, image, ...flags];
}

const bind = (source: string, target: string, isWritable: boolean): string =>
  [
    ...["type=bind", quoted(`source=${source}`), quoted(`target=${target}`)],
    ...(isWritable ? [] : ["readonly"]),
  ].join(",");

/** A field of the engine's comma-separated list. */
const quoted = (field: string): string =>
  /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;

/** Ends a container that may run on when the process that asked for it is gone. */
export async function killContainer({ engine, env }: Container, name: string): Promise<void> {
  await tried(engine, ["kill", name], { env });
}
