import type { Environment } from "@uncaged/workflow/host";
import { writeFileAtomic } from "@uncaged/workflow/internal";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { requestStop, runningService, type ServiceInfo } from "./control.ts";
import type { Unit } from "./unit.ts";
import {
  managerFailed,
  managerMissing,
  noService,
  notEnded,
  notInstalled,
  notStarted,
  unitNotWritten,
} from "./errors.ts";

/** The status of a plan home's service. */
export type ServiceStatus = {
  home: string;
  running: ServiceInfo | null;
  /** The path of the unit file; null if the service is not installed. */
  unit: string | null;
};

const pollMs = 50;
/** Maximum wait for the end of a service without a drain, in milliseconds. */
const longestStopMs = 15_000;
const longestStartMs = 15_000;

/** Returns the status of a plan home's service. */
export function serviceStatus(home: string, unit: Unit | null): ServiceStatus {
  const isInstalled = unit !== null && existsSync(unit.path);
  return { home, running: runningService(home), unit: isInstalled ? unit.path : null };
}

/**
 * Writes the unit of a service, and lets the system's service manager load it.
 * @throws ConfigError
 */
export function installService(unit: Unit, env: Environment): void {
  requireManager(unit, env);
  try {
    mkdirSync(dirname(unit.path), { recursive: true });
    writeFileAtomic(unit.path, unit.text);
  } catch (cause) {
    throw unitNotWritten(cause as Error);
  }
  for (const argv of unit.install) call(argv, env);
}

/**
 * Makes the system's manager start an installed service, and waits until it runs.
 * @throws ConfigError, ExecutorError
 */
export async function startService(home: string, unit: Unit, env: Environment): Promise<void> {
  if (runningService(home)) return;
  if (!existsSync(unit.path)) throw notInstalled(unit.path);
  requireManager(unit, env);
  for (const argv of unit.start) call(argv, env);
  const isUp = await comesTrue(longestStartMs, () => runningService(home) !== null);
  if (isUp) return;
  const isSystemd = unit.manager === "systemd";
  const log = isSystemd ? `journalctl --user -u ${unit.name}` : `${home}/service.log`;
  throw notStarted(longestStartMs / 1000, log);
}

/**
 * Ends the service, regardless of how it was started, and waits for its end. With `drainSeconds`, first pauses the runs
 * and waits up to that time for the pauses.
 * @throws ExecutorError when no service runs, or it does not end.
 */
export async function stopService(
  home: string,
  unit: Unit | null,
  { drainSeconds, env }: { drainSeconds: number | null; env: Environment },
): Promise<ServiceInfo> {
  const running = runningService(home);
  if (!running) throw noService(home);
  requestStop(home, { drainSeconds });
  const longest = longestStopMs + (drainSeconds ?? 0) * 1000;
  const isDown = await comesTrue(longest, () => runningService(home) === null);
  // The manager would restart a service that it started itself.
  if (unit && existsSync(unit.path) && hasManager(unit, env))
    for (const argv of unit.stop) call(argv, env);
  if (isDown) return running;
  throw notEnded(longest / 1000, running.pid);
}

const programOf = ({ manager }: Unit): string =>
  manager === "systemd" ? "systemctl" : "launchctl";

const hasManager = (unit: Unit, env: Environment): boolean =>
  Bun.which(programOf(unit), { PATH: env.PATH ?? "" }) !== null;

function requireManager(unit: Unit, env: Environment): void {
  if (!hasManager(unit, env)) throw managerMissing(programOf(unit));
}

function call([program = "", ...args]: readonly string[], env: Environment): void {
  const { error, status, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
  if (!error && status === 0) return;
  const reason = error?.message ?? (stderr.trim().split("\n")[0] || `exit code ${status}`);
  throw managerFailed([program, ...args].join(" "), reason, error);
}

async function comesTrue(withinMs: number, condition: () => boolean): Promise<boolean> {
  for (const late = performance.now() + withinMs; !condition(); await Bun.sleep(pollMs))
    if (performance.now() > late) return false;
  return true;
}
