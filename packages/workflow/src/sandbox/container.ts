import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemProgram } from "./bubblewrap.ts";
import { bunFlags } from "../system/programs.ts";
import type { StepLimits } from "./limits.ts";
import { tried } from "./tried.ts";
import type { Covered, Shown } from "./view.ts";

/** Runtime for JavaScript inside a sandbox. */
export type Runtime = {
  argv: readonly string[];
  /** Whether it is this process's own Bun, which is mounted inside the container. */
  isOwn: boolean;
};

/** A usable docker or podman of this machine, with an image. */
export type Container = {
  engine: string;
  isPodman: boolean;
  image: string;
  runtime: Runtime;
  /** The seccomp filter, as text; null to use the engine's own filter. */
  seccomp: string | null;
  limits: Pick<StepLimits, "memory" | "cpus" | "processes">;
  /** Variables of the engine's process. They are not visible inside the container. */
  env: Record<string, string>;
};

/** The reason why a container can't be used. `hasImage`: the engine has the image that the user prepared. */
export type NoContainer = { problem: string; hasImage: boolean };

type Env = Readonly<Record<string, string | undefined>>;
type Wanted = Pick<Container, "image" | "limits"> & { engine: string };

/** Path of this process's Bun inside the container. */
export const insideBun = "/workspace/bun";

/** Runs this process's Bun inside the container. A standalone binary needs the variable `BUN_BE_BUN`. */
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
 * Finds a container engine that has an image, and a runtime for the launcher in it: this process's Bun, or a Node or
 * Bun of the image. The launcher compares the folders, installs the login and relays to the proxy.
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
  if (!(await tried([engine, "image", "inspect", image], env)).isOk)
    return { problem: `${name} does not run, or lacks the image ${image}`, hasImage: false };
  if (process.platform !== "linux") {
    const problem = `${name} runs in a virtual machine here, where the folders of a step can't be compared`;
    return { problem, hasImage: true };
  }
  // `docker` may be podman by another name.
  const isPodman = /podman/i.test((await tried([engine, "--version"], env)).output);
  const seccomp = isPodman ? await profileOf(engine, env) : null;
  if (isPodman && seccomp === null) {
    const problem = `${name} lacks a system call filter that blocks user namespaces`;
    return { problem, hasImage: true };
  }
  const problems: string[] = [];
  for (const runtime of [ownRuntime, ...imageRuntimes]) {
    const container = { engine, isPodman, image, runtime, seccomp, limits, env };
    const { isOk, output, problem } = await tried(
      [engine, ...probeArguments(container)],
      env,
      startMs,
    );
    if (isOk && Number.parseInt(output, 10) >= oldestNode) return container;
    problems.push(problem);
  }
  const problem = `the image ${image} has neither node nor bun, so its network can't be filtered and its folders can't be compared: add node to the image (${name}: ${problems[0]})`;
  return { problem, hasImage: true };
}

const profilePlaces = ["/etc/containers/seccomp.json", "/usr/share/containers/seccomp.json"];
/** System calls for namespaces, mounts and kernel keyrings. docker blocks them, podman does not. */
const refusedCalls = new Set(
  "add_key clone clone3 fsconfig fsmount fsopen fspick keyctl mount mount_setattr move_mount open_tree pivot_root request_key setns umount umount2 unshare".split(
    " ",
  ),
);
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
const anyNamespace = 0x7e020000;
const enosys = 38;

/** Returns podman's own seccomp filter without {@link refusedCalls}; null when it has none. */
async function profileOf(engine: string, env: Record<string, string>): Promise<string | null> {
  const { output } = await tried(
    [engine, "info", "--format", "{{.Host.Security.SECCOMPProfilePath}}"],
    env,
  );
  for (const path of [output.trim(), ...profilePlaces]) {
    try {
      return narrowed(JSON.parse(readFileSync(path, "utf8")));
    } catch {
      // Try the next path.
    }
  }
  return null;
}

type Profile = {
  defaultAction: string;
  defaultErrnoRet?: number;
  syscalls: { names: string[]; action: string; errnoRet?: number; args?: unknown[] }[];
};

/** Removes {@link refusedCalls} from an allow list of system calls. Creating threads and processes stays allowed. */
export function narrowed(profile: Profile): string {
  if (!["SCMP_ACT_ERRNO", "SCMP_ACT_KILL_PROCESS"].includes(profile.defaultAction))
    throw new Error("the filter allows unlisted system calls");
  const allowed = profile.syscalls
    .map((rule) => ({
      ...rule,
      names: rule.names.filter((one) => rule.action !== allow || !refusedCalls.has(one)),
    }))
    .filter(({ names }) => names.length > 0);
  const plain = { index: 0, value: anyNamespace, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" };
  const clone = { names: ["clone"], action: allow, args: [plain] };
  // With ENOSYS the C library falls back to clone, whose flags can be filtered.
  const isMissing = profile.defaultErrnoRet === enosys;
  const clone3 = { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: enosys };
  const syscalls = [...allowed, clone, ...(isMissing ? [] : [clone3])];
  return JSON.stringify({ ...profile, syscalls });
}

const allow = "SCMP_ACT_ALLOW";

/** Files in the folder of a start: an empty folder and file as covers, and the seccomp filter. */
export const startFiles = {
  emptyFolder: "empty",
  emptyFile: "nothing",
  seccomp: "seccomp.json",
} as const;

/** Mounts of a container. Folders are bound by path, and the launcher checks that they are the same folders. */
export type ContainerView = {
  name: string;
  shown: readonly Shown[];
  covered: readonly Pick<Covered, "to" | "isFolder">[];
  /** Host folder with the {@link startFiles}. */
  folder: string;
  env: Readonly<Record<string, string>>;
  /** The names of variables whose values are in the environment of the engine's process. */
  envNames: readonly string[];
  cwd: string;
  temporaryBytes: number;
};

/** Returns an engine's arguments, with the launcher's runtime as the program. The launcher's arguments follow them. */
export function containerArguments(container: Container, view: ContainerView): string[] {
  const { isPodman, limits, seccomp } = container;
  const { covered, cwd, env, envNames, folder, name, shown, temporaryBytes } = view;
  const { cpus, memory, processes } = limits;
  // An engine accepts one mount per path. Deeper mounts cover the others.
  const { emptyFile, emptyFolder } = startFiles;
  const mounts = new Map([
    ...shown.map(({ handle, isWritable, to }) => [to, bind(handle.path, to, isWritable)] as const),
    ...covered.map(
      ({ isFolder, to }) =>
        [to, bind(join(folder, isFolder ? emptyFolder : emptyFile), to, false)] as const,
    ),
  ]);
  const temporary = `/tmp:rw,exec,nosuid,nodev,mode=1777,size=${temporaryBytes}`;
  return [
    ...["run", "--rm", "--interactive", "--init", "--name", name],
    ...["--memory", String(memory), "--memory-swap", String(memory), "--cpus", String(cpus)],
    ...["--pids-limit", String(processes), ...walls(isPodman), "--tmpfs", temporary],
    ...(seccomp === null ? [] : ["--security-opt", `seccomp=${join(folder, startFiles.seccomp)}`]),
    ...[...mounts.values()].flatMap((mount) => ["--mount", mount]),
    // Pass only the names: every user can read a command line.
    ...envNames.flatMap((variable) => ["--env", variable]),
    ...Object.entries(env).flatMap(([variable, value]) => ["--env", `${variable}=${value}`]),
    ...["--workdir", cwd, ...program(container)],
  ];
}

/** Returns the arguments that print the Node version of a runtime. */
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
    // Without this option, the user's own files belong to another user inside.
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

/** Quotes a field of the engine's comma-separated list. */
const quoted = (field: string): string =>
  /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;

/** Kills a container, which may outlive the process that started it. */
export async function killContainer({ engine, env }: Container, name: string): Promise<void> {
  await tried([engine, "kill", name], env);
}
