import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

/** Folders of system programs. `PATH` is not used: it may name a folder that a step can write to. */
const folders = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** Settings of ssh. In a user namespace these files seem to belong to another user, and ssh refuses them. */
const sshSettings = "/etc/ssh/ssh_config.d";

/**
 * Returns the command line for a command whose end also ends all of its processes. `argv[0]` is a path, or a program
 * that is not a shell built-in.
 */
export type OwnProcesses = (argv: readonly string[], graceMs: number) => string[];

let found: Promise<OwnProcesses | null> | null = null;

/**
 * Returns a launcher that runs a command in its own PID namespace with bubblewrap. After the command has ended, all
 * processes that it left, in any session, get SIGTERM, and SIGKILL after the grace period. The exit code is the
 * command's, or 128 plus the signal that killed the command. Bubblewrap writes the pid of the command's process group
 * as JSON to descriptor 3 (`child-pid`). Null when bubblewrap or namespaces are missing. The result is cached.
 */
export function ownProcesses(): Promise<OwnProcesses | null> {
  found ??= find();
  return found;
}

const shell = "/bin/sh";
const pollsPerSecond = 20;
// The script of the namespace's first process, which can signal only processes inside. Its output is discarded, because
// it does not come from the command.
const script = `[ "$$" = 1 ] || exit 125
left=$1
shift
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
code=$?
kill -s TERM -- -1 || exit "$code"
while [ "$left" -gt 0 ]; do sleep 0.05 || sleep 1; kill -s 0 -- -1 || break; left=$((left - 1)); done
exit "$code"`;

async function find(): Promise<OwnProcesses | null> {
  const program = folders.map((folder) => `${folder}/bwrap`).find((path) => existsSync(path));
  if (process.platform !== "linux" || program === undefined || !existsSync(shell)) return null;
  const head = [program, ...namespaces(), "--as-pid-1", "--new-session", "--info-fd", "3", "--"];
  const own: OwnProcesses = (argv, graceMs) => {
    const polls = Math.ceil((graceMs * pollsPerSecond) / 1000);
    return [...head, shell, "-c", script, shell, String(polls), ...argv];
  };
  return (await works(own([shell, "-c", '[ "$PPID" = 1 ] && exit 7'], 0))) ? own : null;
}

function namespaces(): string[] {
  const pids = ["--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"];
  if (process.getuid?.() === 0) return pids;
  return [...pids, "--unshare-user", ...(existsSync(sshSettings) ? ["--tmpfs", sshSettings] : [])];
}

const longestProbeMs = 10_000;

/** Whether a command line runs a command and returns its exit code, 7. */
function works([program = "", ...args]: readonly string[]): Promise<boolean> {
  const child = spawn(program, args, {
    cwd: "/",
    env: { PATH: folders.join(":") },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    timeout: longestProbeMs,
  });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 7));
  });
}
