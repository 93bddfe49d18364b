import { closeSync } from "node:fs";
import { bunFlags } from "../system/programs.ts";
import { type Bubblewrap, bubblewrapArguments, systemPaths } from "./bubblewrap.ts";
import { Handle, isInside } from "./handle.ts";
import { keyringFilter } from "./seccomp.ts";
import insideSource from "./inside.mjs" with { type: "text" };
import { endpointOf } from "./addresses.ts";
import { type EgressPolicy, type EgressProxy, openEgressProxy } from "./proxy.ts";
import { type Covered, outermost, overlayOf, type Shown } from "./view.ts";

/** What a command in a sandbox gets. All paths in `command`, `cwd` and `to` are those inside. */
export type SandboxRequest = {
  command: readonly string[];
  cwd: string;
  /** All variables of the command. `set` are others inside, `unset` are for the programs before bubblewrap only. */
  env: Readonly<Record<string, string>>;
  set: Readonly<Record<string, string>>;
  unset?: readonly string[];
  folders: readonly Shown[];
  /** Code of the host that is shown read-only under its own path. */
  code: readonly string[];
  /** Programs that are found by name, whatever folder they are in. */
  commands?: readonly { name: string; path: string }[];
  /** What lies in the folders and must not be seen, by paths without links. */
  hidden: readonly string[];
  /** Files that the launcher puts in a place inside before the command starts. */
  files?: readonly { content: string; to: string }[];
  /** What may be reached; null for no network. */
  network: EgressPolicy | null;
  onRefused?: (target: string, reason: string) => void;
};

/** A command line that starts a command in a sandbox. The command's further arguments go behind `argv`. */
export type SandboxedCommand = {
  argv: string[];
  env: Record<string, string>;
  /** Opens the descriptors that the process gets from number 3 on: for each start anew. They are closed by `end`. */
  descriptors(): number[];
  /** Closes what the start needed, and ends the network. To be called when the process has ended. */
  end(): Promise<void>;
};

/** The folder inside with what the launcher needs, and that with links to programs. */
const launchFolder = "/workspace/launch";
const programFolder = "/workspace/bin";

const bun = "/workspace/bun";
const launcher = `${launchFolder}/inside.mjs`;
/** The proxy's socket as it is named inside. */
export const proxySocket = `${launchFolder}/net/proxy.sock`;
/** Runs a JavaScript file inside. It needs the variable `BUN_BE_BUN`, as {@link bunEnv} has it. */
export const insideBun = [bun, ...bunFlags];

const temporaryBytes = 1024 ** 3;

/** Variables with which every copy of Bun behaves as Bun, a standalone binary too, and reads no settings of the user. */
export const bunEnv = { BUN_BE_BUN: "1", HOME: launchFolder };

const sshConfig = `Host *
  ProxyCommand env BUN_BE_BUN=1 ${bun} ${bunFlags.join(" ")} ${launcher} connect ${proxySocket} %h %p
  UserKnownHostsFile \${HOME}/.ssh/known_hosts /etc/ssh/ssh_known_hosts
  IdentityFile \${HOME}/.ssh/id_ed25519
  IdentityFile \${HOME}/.ssh/id_rsa
`;

/**
 * Prepares the start of a command in a bubblewrap sandbox. `folder` belongs to this start alone, and is written by the host
 * alone; the caller removes it after {@link SandboxedCommand.end}.
 * @throws WorkflowError when the proxy can't listen
 */
export async function prepareSandbox(
  {
    bubblewrap,
    folder,
    limit,
  }: { bubblewrap: Bubblewrap; folder: string; limit: readonly string[] },
  request: SandboxRequest,
): Promise<SandboxedCommand> {
  const own: Handle[] = [];
  const filters: number[] = [];
  let proxy: EgressProxy | null = null;
  const close = async (): Promise<void> => {
    for (const handle of own.splice(0)) handle.close();
    for (const descriptor of filters.splice(0)) closeSync(descriptor);
    await proxy?.close();
  };
  try {
    const top = keep(Handle.open(folder));
    const net = keep(top.folder("net"));
    if (request.network !== null) {
      proxy = await openEgressProxy(net.place("proxy.sock"), request.network, request.onRefused);
      top.write("ssh_config", sshConfig);
    }
    const overlays = request.folders.map((one) => overlayOf(one, request.hidden));
    for (const { shown } of overlays) for (const { handle } of shown) keep(handle);
    const shown: Shown[] = [
      ...codeIn(request).map((path) => ({
        handle: keep(Handle.open(path)),
        to: path,
        isWritable: false,
      })),
      ...request.folders.flatMap((one, at) => [one, ...(overlays[at]?.shown ?? [])]),
      { handle: top, to: launchFolder, isWritable: false },
      { handle: keep(Handle.open(process.execPath)), to: bun, isWritable: false },
    ];
    const ssh = request.network === null ? null : top.entry("ssh_config");
    if (ssh) shown.push({ handle: keep(ssh), to: "/etc/ssh/ssh_config", isWritable: false });
    const covered = overlays.flatMap((one) => one.covered);
    writeTask(top, request, { shown, covered });
    const filter = keyringFilter();
    if (filter !== null) top.write("filter", filter);
    const commands = new Map(request.commands?.map(({ name, path }) => [name, path]));
    const { argv, descriptors } = bubblewrapArguments(bubblewrap, {
      ...{ shown, covered, temporaryBytes, env: bunEnv, hasFilter: filter !== null },
      writable: request.folders.flatMap(({ handle, isWritable }) => (isWritable ? [handle] : [])),
      emptyFolders: overlays.flatMap((one) => one.emptyFolders),
      links: [...commands].map(([name, target]) => ({ target, to: `${programFolder}/${name}` })),
      unsetEnv: request.unset ?? [],
      cwd: launchFolder,
    });
    const start = [...insideBun, launcher, "run", `${launchFolder}/task.json`];
    return {
      argv: [...limit, ...argv, ...start],
      env: { ...request.env },
      descriptors() {
        if (filter === null) return descriptors;
        // bubblewrap reads it to its end, and a copy of a descriptor would go on there.
        const opened = top.descriptor("filter");
        filters.push(opened);
        return [...descriptors, opened];
      },
      end: close,
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

/** Writes what the launcher is told, and the files that it puts in their places. */
function writeTask(
  top: Handle,
  { command, cwd, env, files = [], network, set }: SandboxRequest,
  { covered, shown }: { covered: readonly Covered[]; shown: readonly Shown[] },
): void {
  top.write("inside.mjs", insideSource);
  const copied = files.map(({ content, to }, at) => {
    const name = `file-${at}`;
    top.write(name, content);
    return { from: `${launchFolder}/${name}`, to };
  });
  const hasHome = Object.hasOwn(set, "HOME") || Object.hasOwn(env, "HOME");
  const PATH = [programFolder, env.PATH].filter(Boolean).join(":");
  const task = {
    ...{ command, cwd, files: copied },
    shown: shown.map(({ handle: { identity }, to }) => ({ identity, to })),
    covered: covered.map(({ identity, to }) => ({ identity, to })),
    env: { ...(hasHome && { HOME: env.HOME ?? "" }), PATH, ...set },
    unset: hasHome ? ["BUN_BE_BUN"] : ["BUN_BE_BUN", "HOME"],
    socket: network === null ? null : proxySocket,
    forwards: (network?.allow ?? []).flatMap((one) => {
      const endpoint = endpointOf(one);
      return endpoint && isLoopback(endpoint.host) ? [endpoint] : [];
    }),
  };
  top.write("task.json", JSON.stringify(task));
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1|\[::1\])$/i.test(host);

/** The code that is shown, without what lies in other code or in the system's directories. */
const codeIn = ({ code }: SandboxRequest): string[] =>
  outermost(code.filter((path) => !systemPaths.some((system) => isInside(path, system))));
