import { readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { type CheckedMount, isInside, realOrNull } from "../mount/mount.ts";
import type { SandboxSettings } from "./options.ts";
import type { Program } from "./program.ts";

/** Where a step finds what it has, in every sandbox. */
export const insidePaths = {
  project: "/workspace/project",
  work: "/workspace/work",
  home: "/workspace/home",
  ipc: "/workspace/ipc",
} as const;

/** What a sandbox shows of the host, by real paths, and what it must not show although it lies in what it shows. */
export type View = {
  project: { path: string; isWritable: boolean };
  /** Folders of the run and of the step, which may be written. */
  work: string;
  home: string;
  /** The folder for messages; null for none. */
  ipc: string | null;
  mounts: readonly CheckedMount[];
  /** Code that is shown under its own path. */
  programs: readonly string[];
  hidden: readonly string[];
};

type Bind = { from: string; to: string; isWritable: boolean };

function bindsOf({ home, ipc, mounts, programs, project, work }: View): Bind[] {
  return [
    ...programs.map((path) => ({ from: path, to: path, isWritable: false })),
    { from: project.path, to: insidePaths.project, isWritable: project.isWritable },
    { from: work, to: insidePaths.work, isWritable: true },
    { from: home, to: insidePaths.home, isWritable: true },
    ...(ipc === null
      ? []
      : [
          { from: join(ipc, "input"), to: `${insidePaths.ipc}/input`, isWritable: false },
          { from: join(ipc, "output"), to: `${insidePaths.ipc}/output`, isWritable: true },
        ]),
    ...mounts.map(({ containerPath, hostPath, readonly }) => ({
      from: hostPath,
      to: containerPath,
      isWritable: !readonly,
    })),
  ];
}

/** The paths inside at which something hidden would appear, those below another one left out. */
function hiddenIn(
  { from, to }: Bind,
  hidden: readonly string[],
): { path: string; isFolder: boolean }[] {
  const real = hidden.flatMap((one) => realOrNull(one) ?? []).filter((one) => isInside(one, from));
  return outermost(real).map((one) => ({
    path: posix.join(to, relative(from, one)),
    isFolder: statSync(one).isDirectory(),
  }));
}

const outermost = (paths: readonly string[]): string[] => {
  const own = [...new Set(paths)];
  return own.filter((path) => !own.some((other) => other !== path && isInside(path, other)));
};

/** The variables that are others inside. */
export const insideEnv = {
  HOME: insidePaths.home,
  TMPDIR: "/tmp",
  CLAUDE_CONFIG_DIR: `${insidePaths.home}/.claude`,
};

/** The system's programs and libraries; those that are links stay links. */
const systemFolders = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix/store"];
/** What programs read of /etc to find names, hosts, keys of authorities and the time: nothing with a credential. */
const systemFiles =
  "alternatives ca-certificates ca-certificates.conf crypto-policies gai.conf group host.conf hosts ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types nsswitch.conf os-release passwd pki protocols resolv.conf services ssl timezone".split(
    " ",
  );

function systemArguments(): string[] {
  const top = new Map(
    readdirSync("/", { withFileTypes: true }).map((entry) => [entry.name, entry]),
  );
  const folders = systemFolders.flatMap((name) =>
    top.get(name)?.isSymbolicLink()
      ? ["--symlink", readlinkSync(`/${name}`), `/${name}`]
      : ["--ro-bind-try", `/${name}`, `/${name}`],
  );
  const files = systemFiles.flatMap((name) => {
    const real = realOrNull(`/etc/${name}`);
    return real === null ? [] : ["--ro-bind-try", real, `/etc/${name}`];
  });
  return [...folders, ...files];
}

/**
 * The arguments of bubblewrap before the program. It dies with its parent, and all in it with it, but only once it is set
 * up; until then a signal to its process group is what ends it. So it stays in the group that it is started in, and gets
 * no session of its own: whoever starts it gives it one without a terminal.
 */
export function bubblewrapArguments(
  view: View,
  { network }: Pick<SandboxSettings, "network">,
): string[] {
  const binds = bindsOf(view);
  return [
    ...["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ...["--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"],
    ...(network === "none" ? ["--unshare-net"] : []),
    ...systemArguments(),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
    ...binds.flatMap(({ from, isWritable, to }) => [isWritable ? "--bind" : "--ro-bind", from, to]),
    ...binds
      .flatMap((bind) => hiddenIn(bind, view.hidden))
      .flatMap(({ isFolder, path }) =>
        isFolder ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path],
      ),
    ...["--remount-ro", "/", "--chdir", insidePaths.project, "--"],
  ];
}

/** The arguments of docker or podman before the program, which is one of the image. */
export function containerArguments(
  view: View,
  { cpus, image, memory, network, processes }: SandboxSettings,
  { env, name }: { name: string; env: readonly string[] },
): string[] {
  const binds = bindsOf(view);
  const { gid, uid } = ownIds();
  return [
    ...["run", "--rm", "--interactive", "--init", "--name", name],
    ...["--memory", String(memory), "--memory-swap", String(memory), "--cpus", String(cpus)],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    ...["--pids-limit", String(processes)],
    ...["--read-only", "--tmpfs", "/tmp", "--user", `${uid}:${gid}`],
    ...(network === "none" ? ["--network", "none"] : []),
    ...binds.flatMap(({ from, isWritable, to }) => [
      "--mount",
      [
        `type=bind`,
        quoted(`source=${from}`),
        quoted(`target=${to}`),
        ...(isWritable ? [] : ["readonly"]),
      ].join(","),
    ]),
    ...binds
      .flatMap((bind) => hiddenIn(bind, view.hidden))
      .flatMap(({ isFolder, path }) =>
        isFolder
          ? ["--mount", ["type=tmpfs", quoted(`target=${path}`), "tmpfs-mode=0000"].join(",")]
          : [
              "--mount",
              ["type=bind", "source=/dev/null", quoted(`target=${path}`), "readonly"].join(","),
            ],
      ),
    // By name alone: a command line can be read by everybody.
    ...env.flatMap((variable) => ["--env", variable]),
    ...["--workdir", insidePaths.project, image],
  ];
}

/** A field of the engine's comma-separated list. */
const quoted = (field: string): string =>
  /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;

const ownIds = (): { uid: number; gid: number } => {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return { uid, gid };
};

/** The folders and files of a command and of the command line, each once, those inside others left out. */
export function codeOf(programs: readonly Program[], folders: readonly string[]): string[] {
  const all = [
    ...programs.flatMap(({ needs }) => needs),
    ...folders.map((path) => realpathSync(path)),
  ];
  return outermost(all.filter((path) => !systemPaths.some((system) => isInside(path, system))));
}

const systemPaths = systemFolders.map((name) => `/${name}`);
