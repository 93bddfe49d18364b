import { existsSync, readFileSync } from "node:fs";
import type { Environment } from "../system/port.ts";
import { systemProgram } from "./bubblewrap.ts";
import { tried } from "./tried.ts";

/** Limits of all processes of a step together. */
export type StepLimits = {
  /** In bytes. */
  memory: number;
  cpus: number;
  /** Processes and threads, as control groups count them: a browser has hundreds of threads. */
  processes: number;
  /** Total size of all files in the step's folders, in bytes. */
  disk: number;
};

/** Default limits of a sandboxed command. */
export const defaultLimits: StepLimits = {
  memory: 4 * 1024 ** 3,
  cpus: 2,
  processes: 4096,
  disk: 10 * 1024 ** 3,
};

/** A command line prefix that limits a command. */
export type LimitedCommand = {
  argv: string[];
  /** Variables that the prefix needs. */
  env: Record<string, string>;
  /** Descriptions of the enforced limits. */
  hold: string[];
};

/** Describes the limits enforced by {@link watchLimits}. */
export function heldLimits({ cpus, disk, memory, processes }: StepLimits): string[] {
  return [
    `${inBytes(memory)} for all processes`,
    processors(cpus),
    `${processes} processes and threads`,
    isWatched() ? `${inBytes(disk)} of files` : "no limit on files",
  ];
}

/** Whether this machine has the files in `/proc` that {@link watchLimits} reads. */
export const isWatched = (): boolean => existsSync("/proc/self/stat");

/**
 * Returns the command line prefix for bubblewrap. A scope of the user's service manager limits all processes together
 * if its control group supports the limits; the watchdog limits them everywhere. Each command of the prefix executes
 * the next command in its own process, so the process id and the open files stay the same. Programs below `writable`
 * are not used: a step may have written them.
 */
export async function limitCommand(
  limits: StepLimits,
  env: Environment,
  writable: readonly string[] = [],
): Promise<LimitedCommand> {
  const program = (name: string) => systemProgram(name, env, writable);
  const scope = await groupScope(limits, env, program("systemd-run"));
  const prlimit = program("prlimit");
  const each =
    prlimit === null
      ? []
      : [
          ...[prlimit, "--core=0", `--fsize=${limits.disk + overshoot}`],
          ...(scope === null ? [`--data=${limits.memory}`] : []),
        ];
  if (scope !== null) {
    return { argv: [...scope.argv, ...each], env: scope.env, hold: heldLimits(limits) };
  }
  const processors = processorsFor(limits.cpus, program("taskset"));
  const [memory = "", , ...others] = heldLimits(limits);
  return {
    argv: [...each, ...processors.argv],
    env: {},
    hold: [memory, processors.holds, ...others],
  };
}

// In bytes. Lets a file exceed the limit a little, so that the watchdog sees it and names the limit before the system
// refuses a write.
const overshoot = 1024 ** 2;

type Scope = { argv: string[]; env: Record<string, string> };

/**
 * Returns a scope of the user's service manager. Null without a manager, or when its control group does not have all
 * limits: a manager also accepts properties of controllers that the system has not delegated to it.
 */
async function groupScope(
  limits: StepLimits,
  { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR }: Environment,
  path: string | null,
): Promise<Scope | null> {
  if (path === null || !XDG_RUNTIME_DIR) return null;
  const own = {
    XDG_RUNTIME_DIR,
    ...(DBUS_SESSION_BUS_ADDRESS && { DBUS_SESSION_BUS_ADDRESS }),
  };
  const { cpus, memory, processes } = limits;
  const properties = [
    ...[`MemoryMax=${memory}`, "MemorySwapMax=0"],
    ...[`CPUQuota=${cpus * 100}%`, `TasksMax=${processes}`],
  ];
  const scope = [path, "--user", "--scope", "--quiet", "--collect"];
  // Newer managers replace `$NAME` in the arguments of the command; older managers reject the option.
  for (const literal of [["--expand-environment=no"], []]) {
    const argv = [
      ...[...scope, ...literal],
      ...properties.flatMap((one) => ["--property", one]),
      "--",
    ];
    const { isOk, output } = await tried([...argv, "/bin/sh", "-c", showGroup], {
      PATH: "/usr/bin:/bin",
      ...own,
    });
    if (isOk) return holdsIn(output, limits) ? { argv, env: own } : null;
  }
  return null;
}

const showGroup =
  'cd "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)" && cat memory.max memory.swap.max cpu.max pids.max';

/** Whether the limits in the files of a control group, one line each, are at most these. */
export function holdsIn(files: string, { cpus, memory, processes }: StepLimits): boolean {
  const [most = "", swap = "", cpu = "", tasks = ""] = files.split("\n");
  const [quota = "", period = ""] = cpu.split(" ");
  const areNumbers = [most, quota, period, tasks].every((text) => /^\d+$/.test(text));
  return (
    areNumbers &&
    swap === "0" &&
    Number(most) <= memory &&
    Number(quota) / Number(period) <= cpus &&
    Number(tasks) <= processes
  );
}

/** Returns the command line that limits the processors without a control group. */
function processorsFor(cpus: number, taskset: string | null): { argv: string[]; holds: string } {
  const own = ownProcessors();
  if (own.length > 0 && own.length <= cpus) return { argv: [], holds: processors(own.length) };
  if (own.length === 0 || taskset === null) return { argv: [], holds: "no limit on cpus" };
  // Steps that run concurrently are spread over the processors.
  const first = Math.floor(Math.random() * own.length);
  const taken = Array.from({ length: cpus }, (_, n) => own[(first + n) % own.length]);
  return { argv: [taskset, "--cpu-list", taken.join(",")], holds: processors(cpus) };
}

/** Returns the numbers of the processors that this process may use; empty when unknown. */
function ownProcessors(): number[] {
  let status = "";
  try {
    status = readFileSync("/proc/self/status", "utf8");
  } catch {
    return [];
  }
  const [, list = ""] = /^Cpus_allowed_list:\s*([\d,-]+)$/m.exec(status) ?? [];
  return list
    .split(",")
    .filter(Boolean)
    .flatMap((range) => {
      const [from = 0, to = from] = range.split("-").map(Number);
      return Array.from({ length: to - from + 1 }, (_, n) => from + n);
    });
}

const processors = (count: number): string => `${count} ${count === 1 ? "cpu" : "cpus"}`;

/** Formats a number of bytes. */
export function inBytes(bytes: number): string {
  const [unit, size] =
    bytes < 1024 ** 3 ? (["MiB", 1024 ** 2] as const) : (["GiB", 1024 ** 3] as const);
  return `${Number((bytes / size).toFixed(2))} ${unit}`;
}
