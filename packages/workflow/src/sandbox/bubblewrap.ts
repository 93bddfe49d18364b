import { readdirSync, readlinkSync } from "node:fs";
import { delimiter } from "node:path";
import { type Handle, isInside, realOrNull } from "./handle.ts";
import { found } from "./programs.ts";
import { tried } from "./tried.ts";
import type { Covered, Shown } from "./view.ts";

/** The usable bubblewrap of this machine. */
export type Bubblewrap = {
  path: string;
  /** Whether it creates a user namespace that forbids further user namespaces. */
  hasUserNamespace: boolean;
};

const systemPath = "/usr/local/bin:/usr/bin:/bin";

/**
 * Finds a system program for the host to run, on PATH and in the system's folders, but never in a folder that a step
 * may write to.
 */
export function systemProgram(
  name: string,
  { PATH = "" }: { PATH?: string },
  writable: readonly string[] = [],
): string | null {
  for (const folder of `${PATH}:${systemPath}`.split(delimiter)) {
    const path = found(name, { PATH: folder });
    if (path !== null && ![path, folder].some((one) => writable.some((top) => isInside(one, top))))
      return path;
  }
  return null;
}

const namespaces = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"];

/** Finds and tries bubblewrap; returns the problem as a text if it does not work. The result is cached for a minute. */
export async function findBubblewrap(
  env: { PATH?: string },
  writable: readonly string[] = [],
): Promise<Bubblewrap | string> {
  const path = systemProgram("bwrap", env, writable);
  if (path === null) return "bubblewrap is not installed";
  const { output: help } = await tried([path, "--help"]);
  if (!help.includes("--ro-bind-fd") || !help.includes("--disable-userns"))
    return `${path} is too old: it lacks --bind-fd or --disable-userns (0.8.0 has both)`;
  const rest = [...namespaces, "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc"];
  const own = [...rest, "--ro-bind", "/proc/sys", "/proc/sys", "--", "/bin/true"];
  const outer = [...readOnlyHost, "--", path];
  const withUsers = await tried([path, ...outer, ...userNamespace, ...own]);
  if (withUsers.isOk) return { path, hasUserNamespace: true };
  // Without user namespaces, processes inside can't create any either.
  const isRoot = process.getuid?.() === 0;
  if (
    isRoot &&
    (await tried([path, ...outer, ...own])).isOk &&
    !(await tried([path, ...userNamespace.slice(0, 1)])).isOk
  )
    return { path, hasUserNamespace: false };
  return `bubblewrap can't create namespaces here: ${withUsers.problem}`;
}

const userNamespace = ["--unshare-user", "--disable-userns"];

/**
 * Arguments of the outer bubblewrap. The read-only `/dev` has no devices, and the read-only `/proc` prevents the mount
 * of another `/proc`.
 */
const readOnlyHost = [
  ...["--die-with-parent", "--ro-bind", "/", "/"],
  ...["--dev-bind", "/dev", "/dev", "--dev-bind", "/proc", "/proc"],
];

/** System folders with programs and libraries. Links stay links. */
const systemFolders = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix/store"];
/** Files of /etc for names, hosts, certificate authorities and time zones. None of them contains a credential. */
const systemFiles =
  "alternatives ca-certificates ca-certificates.conf crypto-policies gai.conf group host.conf hosts ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types nsswitch.conf os-release passwd pki protocols resolv.conf services ssl timezone".split(
    " ",
  );

/** The system's directories, visible in every sandbox. */
export const systemPaths = systemFolders.map((name) => `/${name}`);

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

/** Mounts of a bubblewrap sandbox. Later entries cover earlier entries. */
export type BubblewrapView = {
  /** Handles of the writable folders. */
  writable: readonly Handle[];
  shown: readonly Shown[];
  covered: readonly Pick<Covered, "to" | "isFolder">[];
  links: readonly { target: string; to: string }[];
  env: Readonly<Record<string, string>>;
  unsetEnv: readonly string[];
  cwd: string;
  /** Whether the caller appends a seccomp filter as the last descriptor. */
  hasFilter: boolean;
  /** Maximum size of /tmp, and of /dev/shm, in bytes. */
  temporaryBytes: number;
};

/** First descriptor of a started process after its standard streams. */
const usualDescriptor = 3;

/**
 * Returns the command line before the program, and the descriptors that the process needs, from `firstDescriptor` on.
 *
 * bubblewrap creates missing mount points and follows links on the way. A process in another sandbox could plant such a
 * link in a shared writable folder and have a file created anywhere. So bubblewrap runs in an outer bubblewrap in which
 * only the writable folders are writable.
 *
 * Bubblewrap stays in the process group and session of its starter, because it outlives its parent during its setup:
 * only a signal to the group ends it then.
 */
export function bubblewrapArguments(
  { hasUserNamespace, path }: Bubblewrap,
  view: BubblewrapView,
  firstDescriptor = usualDescriptor,
): { argv: string[]; descriptors: number[] } {
  const { covered, cwd, env, hasFilter, links, shown, temporaryBytes } = view;
  const { unsetEnv, writable } = view;
  const binds = shown.flatMap(({ isWritable, to }, at) => [
    isWritable ? "--bind-fd" : "--ro-bind-fd",
    String(firstDescriptor + at),
    to,
  ]);
  const outer = writable.flatMap((handle, at) => [
    "--bind-fd",
    String(firstDescriptor + shown.length + at),
    handle.path,
  ]);
  const last = firstDescriptor + shown.length + writable.length;
  const argv = [
    ...[path, ...readOnlyHost, ...outer, "--", path],
    ...(hasUserNamespace ? userNamespace : []),
    ...[...namespaces, "--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"],
    ...systemArguments(),
    ...["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
    ...["/tmp", "/dev/shm"].flatMap((to) => ["--size", String(temporaryBytes), "--tmpfs", to]),
    ...["--remount-ro", "/dev"],
    ...links.flatMap(({ target, to }) => ["--symlink", target, to]),
    ...binds,
    ...covered.flatMap(({ isFolder, to }) =>
      isFolder ? ["--tmpfs", to, "--remount-ro", to] : ["--ro-bind", "/dev/null", to],
    ),
    ...unsetEnv.flatMap((name) => ["--unsetenv", name]),
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(hasFilter ? ["--seccomp", String(last)] : []),
    ...["--remount-ro", "/", "--chdir", cwd, "--"],
  ];
  const descriptors = [...shown.map(({ handle }) => handle), ...writable].map(({ fd }) => fd);
  return { argv, descriptors };
}
