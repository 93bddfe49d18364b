import { closeSync, mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type Bubblewrap, bubblewrapArguments, systemPaths } from "./bubblewrap.ts";
import {
  type Container,
  containerArguments,
  insideBun,
  killContainer,
  ownRuntime,
  type Runtime,
  startFiles,
} from "./container.ts";
import { Handle, isInside } from "./handle.ts";
import { keyringFilter } from "./seccomp.ts";
// oxlint-disable-next-line import/default -- its text is imported
import insideSource from "./inside.mjs" with { type: "text" };
import { type EgressPolicy, endpointOf } from "./addresses.ts";
import { type EgressProxy, openEgressProxy } from "./proxy.ts";
import {
  type Covered,
  outermost,
  overlayOf,
  removeUnwanted,
  type Shown,
  type Unwanted,
} from "./view.ts";

/** A command for a sandbox. Paths in `command`, `cwd` and `to` are paths inside. */
export type SandboxRequest = {
  command: readonly string[];
  cwd: string;
  /**
   * All variables of the command. `set` replaces values inside the sandbox; the variables in `unset` exist only for the
   * programs that start the sandbox.
   */
  env: Readonly<Record<string, string>>;
  set: Readonly<Record<string, string>>;
  unset?: readonly string[];
  /** User folders. Their settings and hooks are protected. */
  folders: readonly Shown[];
  /** Folders used only by the sandbox. The command may write everything in them, including settings. */
  ownFolders?: readonly Shown[];
  /** Host code that is visible read-only under its own path. */
  code: readonly string[];
  /** Host programs that the command finds by name, from any folder. An image has its own programs. */
  commands?: readonly { name: string; path: string }[];
  /** Hidden paths within the folders, without links. */
  hidden: readonly string[];
  /** Files that the launcher writes inside before the command starts. */
  files?: readonly { content: string; to: string }[];
  /** Allowed addresses; null for no network. */
  network: EgressPolicy | null;
  onRefused?: (target: string, reason: string) => void;
};

/** Sandbox of a command: bubblewrap or a container, whose `name` is unique for each start. */
export type Wall = { bubblewrap: Bubblewrap } | { container: Container; name: string };

/** A command line that starts a command in a sandbox. Append the command's further arguments to `argv`. */
export type SandboxedCommand = {
  argv: string[];
  env: Record<string, string>;
  /** Opens the descriptors of the process, from number 3 on, for one start. `end` closes them. */
  descriptors(): number[];
  /**
   * Releases the resources of the start, and closes its proxy. Call it after the process has ended. Removes the files
   * that the command created to make git execute programs, and returns their paths.
   */
  end(): Promise<string[]>;
};

/** Folders inside for the launcher's files and for links to programs. */
const launchFolder = "/workspace/launch";
const programFolder = "/workspace/bin";

const launcher = `${launchFolder}/inside.mjs`;
/** Path of the proxy's socket inside. */
export const proxySocket = `${launchFolder}/net/proxy.sock`;
const lifeSocket = `${launchFolder}/net/life.sock`;

const temporaryBytes = 1024 ** 3;

/** Variables that make every copy of Bun, even a standalone binary, act as Bun and ignore the user's settings. */
export const bunEnv = { BUN_BE_BUN: "1", HOME: launchFolder };

/** Command that runs JavaScript in a sandbox. It needs the variables of {@link bunEnv}. */
export const runtimeIn = (container: Container | null): readonly string[] =>
  (container?.runtime ?? ownRuntime).argv;

const sshConfig = ({ argv }: Runtime): string => `Host *
  ProxyCommand env BUN_BE_BUN=1 ${argv.join(" ")} ${launcher} connect ${proxySocket} %h %p
  UserKnownHostsFile \${HOME}/.ssh/known_hosts /etc/ssh/ssh_known_hosts
  IdentityFile \${HOME}/.ssh/id_ed25519
  IdentityFile \${HOME}/.ssh/id_rsa
`;

type Layout = { top: Handle; shown: Shown[]; covered: Covered[] };

/**
 * Prepares the start of a command in a sandbox. `folder` serves only this start, and only the host writes to it. The
 * caller removes it after {@link SandboxedCommand.end}. `limit` is a command line that limits bubblewrap.
 * @throws WorkflowError when the proxy can't listen
 */
export async function prepareSandbox(
  where: Wall & { folder: string; limit: readonly string[] },
  request: SandboxRequest,
): Promise<SandboxedCommand> {
  const runtime = "container" in where ? where.container.runtime : ownRuntime;
  const own: Handle[] = [];
  const filters: number[] = [];
  let proxy: EgressProxy | null = null;
  let life: { close(): void } | null = null;
  const unwanted: Unwanted[] = [];
  const close = async (): Promise<string[]> => {
    life?.close();
    await proxy?.close();
    const planted = removeUnwanted(unwanted.splice(0));
    for (const handle of own.splice(0)) handle.close();
    for (const descriptor of filters.splice(0)) closeSync(descriptor);
    return planted;
  };
  try {
    const top = keep(Handle.open(where.folder));
    const net = keep(top.folder("net"));
    if (request.network !== null) {
      proxy = await openEgressProxy(net.place("proxy.sock"), request.network, request.onRefused);
      top.write("ssh_config", sshConfig(runtime));
    }
    const overlays = request.folders.map((one) => overlayOf(one, request.hidden));
    for (const one of overlays) {
      for (const { handle } of one.shown) keep(handle);
      for (const { git } of one.unwanted) keep(git);
      unwanted.push(...one.unwanted);
    }
    const readable = (path: string, to: string): Shown => ({
      ...{ handle: keep(Handle.open(path)), to, isWritable: false },
    });
    const shown: Shown[] = [
      ...codeIn(where, request).map((path) => readable(path, path)),
      ...request.folders.flatMap((one, at) => [one, ...(overlays[at]?.shown ?? [])]),
      ...(request.ownFolders ?? []),
      { handle: top, to: launchFolder, isWritable: false },
      ...(runtime.isOwn ? [readable(process.execPath, insideBun)] : []),
    ];
    const ssh = request.network === null ? null : top.entry("ssh_config");
    if (ssh) shown.push({ handle: keep(ssh), to: "/etc/ssh/ssh_config", isWritable: false });
    const layout = { top, shown, covered: overlays.flatMap((one) => one.covered) };
    writeTask(where, request, layout);
    if (!("container" in where)) {
      const { descriptors, ...started } = inBubblewrap(where, request, layout);
      const open = (): number[] => descriptors(filters);
      return { ...started, descriptors: open, end: close };
    }
    life = await openLife(net.place("life.sock"));
    return {
      ...inContainer(where, request, layout),
      async end() {
        // After this removal, a container that is still being created does not find its task.
        top.remove("task.json");
        life?.close();
        await killContainer(where.container, where.name);
        return await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }

  function keep(handle: Handle): Handle {
    own.push(handle);
    return handle;
  }
}

/**
 * Like {@link prepareSandbox}, but creates a folder for the start in a run's folder, which `end` removes.
 * @throws WorkflowError when the proxy can't listen
 */
export async function prepareInRun(
  { run, ...where }: Wall & { run: string; limit: readonly string[] },
  request: SandboxRequest,
): Promise<SandboxedCommand> {
  const launches = join(run, "launch");
  mkdirSync(launches, { recursive: true, mode: 0o700 });
  const name = crypto.randomUUID();
  const remove = () => {
    using folder = Handle.open(launches);
    folder.remove(name);
  };
  const folder = join(launches, name);
  mkdirSync(folder, { mode: 0o700 });
  try {
    const prepared = await prepareSandbox({ ...where, folder }, request);
    const end = async () => {
      const planted = await prepared.end();
      remove();
      return planted;
    };
    return { ...prepared, end };
  } catch (error) {
    remove();
    throw error;
  }
}

const launcherArguments = [launcher, "run", `${launchFolder}/task.json`];

function inBubblewrap(
  { bubblewrap, limit }: { bubblewrap: Bubblewrap; limit: readonly string[] },
  { commands = [], env, folders, ownFolders = [], unset = [] }: SandboxRequest,
  { covered, shown, top }: Layout,
): { argv: string[]; env: Record<string, string>; descriptors: (opened: number[]) => number[] } {
  const links = new Map(commands.map(({ name, path }) => [`${programFolder}/${name}`, path]));
  const filter = keyringFilter();
  if (filter !== null) top.write("filter", filter);
  const { argv, descriptors } = bubblewrapArguments(bubblewrap, {
    ...{ shown, covered, temporaryBytes, env: bunEnv, hasFilter: filter !== null },
    writable: [...folders, ...ownFolders].flatMap(({ handle, isWritable }) =>
      isWritable ? [handle] : [],
    ),
    links: [...links].map(([to, target]) => ({ target, to })),
    ...{ unsetEnv: unset, cwd: launchFolder },
  });
  return {
    argv: [...limit, ...argv, ...ownRuntime.argv, ...launcherArguments],
    env: { ...env },
    descriptors(opened) {
      if (filter === null) return descriptors;
      // Open the file again: bubblewrap reads the descriptor to its end, and a duplicate would share that position.
      const own = top.descriptor("filter");
      opened.push(own);
      return [...descriptors, own];
    },
  };
}

function inContainer(
  { container, name }: { container: Container; name: string },
  { env, set, unset = [] }: SandboxRequest,
  { covered, shown, top }: Layout,
): Omit<SandboxedCommand, "end"> {
  top.folder(startFiles.emptyFolder).close();
  top.write(startFiles.emptyFile, "");
  if (container.seccomp !== null) top.write(startFiles.seccomp, container.seccomp);
  const others = new Set([...imageVariables, ...Object.keys(set), ...unset]);
  const argv = containerArguments(container, {
    ...{ name, shown, covered, temporaryBytes, env: bunEnv, cwd: launchFolder },
    folder: top.path,
    envNames: Object.keys(env).filter((variable) => !others.has(variable)),
  });
  return {
    argv: [container.engine, ...argv, ...launcherArguments],
    env: { ...env, ...container.env },
    descriptors: () => [],
  };
}

/** Variables for which an image has its own values. */
const imageVariables = ["PATH", "HOME"];

/**
 * Listens for the launcher of a container. The launcher ends when this connection closes, because an engine keeps a
 * container running after its client is killed.
 */
async function openLife(path: string): Promise<{ close(): void }> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => client.destroy());
    client.on("close", () => clients.delete(client));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  return {
    close() {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
}

/** Writes the launcher's task and the files that it installs. */
function writeTask(
  where: Wall,
  { command, cwd, env, files = [], network, set }: SandboxRequest,
  { covered, shown, top }: Layout,
): void {
  top.write("inside.mjs", insideSource);
  const copied = files.map(({ content, to }, at) => {
    const name = `file-${at}`;
    top.write(name, content);
    return { from: `${launchFolder}/${name}`, to };
  });
  const inImage = "container" in where;
  const hasHome = Object.hasOwn(set, "HOME") || Object.hasOwn(env, "HOME");
  const PATH = [programFolder, env.PATH].filter(Boolean).join(":");
  const task = {
    ...{ command, cwd, files: copied },
    shown: shown.map(({ handle: { identity }, isWritable, to }) => ({ identity, isWritable, to })),
    covered: covered.map(({ identity, to }) => ({ identity, to })),
    env: { ...(hasHome && { HOME: env.HOME ?? "" }), ...(!inImage && { PATH }), PWD: cwd, ...set },
    unset: ["BUN_BE_BUN", "HOME"],
    life: inImage ? lifeSocket : null,
    socket: network === null ? null : proxySocket,
    forwards: (network?.allow ?? []).flatMap((one) => {
      const endpoint = endpointOf(one);
      return endpoint && isLoopback(endpoint.host) ? [endpoint] : [];
    }),
  };
  top.write("task.json", JSON.stringify(task));
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1|\[::1\])$/i.test(host);

/**
 * Returns the visible code, without paths inside other code or inside the system directories that bubblewrap mounts.
 */
const codeIn = (where: Wall, { code }: SandboxRequest): string[] => {
  const isSeen = (path: string) => systemPaths.some((system) => isInside(path, system));
  return outermost("container" in where ? code : code.filter((path) => !isSeen(path)));
};
