import { bunEnv, isInside, proxySocket, runtimeIn } from "@uncaged/workflow/sandbox";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { homedir, networkInterfaces } from "node:os";
import { join } from "node:path";
import { insidePaths } from "../sandbox/launch.ts";
import { runInside } from "./run-inside.ts";
// oxlint-disable-next-line import/default -- its text is imported
import source from "./self-test.mjs" with { type: "text" };
import type { CheckedSandbox, StepSite } from "./view.ts";
import { sandboxLeaks, sandboxNotStarted } from "./errors.ts";

/** An access that a sandbox should prevent but does not. */
type Opening = { what: string; detail: string };

const script = "/tmp/self-test.mjs";
const list = "/tmp/self-test.json";
const metadataAddresses = ["169.254.169.254:80", "[fd00:ec2::254]:80", "100.100.100.200:80"];

/**
 * Starts a sandbox as for a step and tests it from inside: tries to write and read outside the sandbox, to reach this
 * machine and its network, and to leave a process behind.
 * @throws ConfigError that names the openings, or why the sandbox does not start
 */
export async function testFromInside(
  checked: CheckedSandbox,
  { env }: Pick<StepSite, "env">,
): Promise<void> {
  const mark = crypto.randomUUID();
  const canary = await listening(mark);
  try {
    const targets = targetsOf(checked, { env, mark, port: portOf(canary.server) });
    const { end, output, problem } = await runInside(checked, {
      command: [...runtimeIn(checked.sandbox.container), script, list],
      set: bunEnv,
      env: { PATH: env.PATH ?? "", ...(env.HOME !== undefined && { HOME: env.HOME }) },
      files: [
        { content: source, to: script },
        { content: JSON.stringify(targets), to: list },
      ],
    });
    if (end.exitCode !== 0) {
      throw sandboxNotStarted(problem);
    }
    const { open } = JSON.parse(output) as { open: Opening[] };
    if (canary.hits() > 0 && !open.some(({ what }) => what === "connect"))
      open.push({ what: "connect", detail: "this machine" });
    const left = processesWith(mark);
    if (left.length > 0) open.push({ what: "processes left behind", detail: left.join(" ") });
    if (open.length > 0) throw sandboxLeaks(open);
  } finally {
    canary.server.close();
  }
}

type Targets = {
  unwritable: string[];
  /** Paths with their identity on this machine, because an image may have a file with the same name. */
  unreadable: { path: string; identity: string | null }[];
  addresses: string[];
  socket: string | null;
  /** Whether only a filter of system calls prevents user namespaces. */
  isFiltered: boolean;
  mark: string;
};

function targetsOf(
  { hidden, mounts, network, project, sandbox }: CheckedSandbox,
  { env, mark, port }: Pick<StepSite, "env"> & { mark: string; port: number },
): Targets {
  const home = env.HOME ?? homedir();
  const shown = [project.path, ...mounts.map(({ hostPath }) => hostPath)];
  const inProject = hidden.flatMap((path) =>
    isInside(path, project.path) && path !== project.path
      ? [join(insidePaths.project, path.slice(project.path.length))]
      : [],
  );
  const onHost = [...hidden, "/root/.ssh", "/etc/shadow", "/etc/ssh/ssh_host_ed25519_key"];
  const isImage = sandbox.container !== null;
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const addresses = own
    .filter(({ address, scopeid }) => !scopeid && address !== "127.0.0.1" && address !== "::1")
    .map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address));
  return {
    unwritable: [
      ...["/", "/etc", "/usr", "/usr/local/bin", "/opt", "/var/tmp", "/workspace", home, ...shown],
      ...(project.access === "read-only" ? [insidePaths.project] : []),
      ...mounts.flatMap(({ containerPath, readonly }) => (readonly ? [containerPath] : [])),
    ],
    unreadable: [
      ...inProject.map((path) => ({ path, identity: null })),
      ...onHost.map((path) => ({ path, identity: isImage ? identityOf(path) : null })),
    ],
    addresses: [
      ...["127.0.0.1", "[::1]", "localhost", "0.0.0.0", "2130706433", ...addresses].map(
        (address) => `${address}:${port}`,
      ),
      ...metadataAddresses,
    ].filter((address) => !network?.allow.includes(address)),
    socket: network === null ? null : proxySocket,
    isFiltered: isImage,
    mark,
  };
}

/** Returns device and inode, or for a path that is invisible to this user a value that matches no file. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return "";
  }
}

/**
 * Starts a server on all addresses of this machine. A step must not reach it. Counts the connections that send the mark.
 */
async function listening(mark: string): Promise<{ server: Server; hits: () => number }> {
  let hits = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      if (chunk.includes(mark)) hits += 1;
      socket.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "0.0.0.0", resolve);
  });
  return { server, hits: () => hits };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Returns the ids of the processes whose command line contains a text. */
function processesWith(mark: string): string[] {
  return readdirSync("/proc").filter((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });
}
