import { isInside, outermost, realOrNull, systemPaths } from "@uncaged/workflow/sandbox";
import { realpathSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";
import type { CheckedMount } from "../mount/mount.ts";
import type { SandboxSettings } from "./options.ts";

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

/** The variables that are others inside. */
export const insideEnv = {
  HOME: insidePaths.home,
  TMPDIR: "/tmp",
  CLAUDE_CONFIG_DIR: `${insidePaths.home}/.claude`,
};

/** The arguments of docker or podman before the program, which is one of the image. */
export function containerArguments(
  view: View,
  { cpus, image, memory, network }: SandboxSettings,
  { env, name }: { name: string; env: readonly string[] },
): string[] {
  const binds = bindsOf(view);
  const { gid, uid } = ownIds();
  return [
    ...["run", "--rm", "--interactive", "--init", "--name", name],
    ...["--memory", String(memory), "--memory-swap", String(memory), "--cpus", String(cpus)],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "4096"],
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

/** The folders of programs without links, those inside others left out. */
export const codeOf = (folders: readonly string[]): string[] =>
  outermost(
    folders
      .map((path) => realpathSync(path))
      .filter((path) => !systemPaths.some((system) => isInside(path, system))),
  );
