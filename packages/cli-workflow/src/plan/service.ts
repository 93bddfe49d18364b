import { join } from "node:path";
import type { ServiceEvent, ServiceStatus, Unit } from "@uncaged/workflow-plan/service";
import { keepAwake, rootVariable, withoutPasswords } from "@uncaged/workflow/internal";
import type { Command } from "commander";
import { wholeNumber } from "../arguments/options.ts";
import { noteRecovered } from "../output/recovered.ts";
import { oneLine } from "../output/text.ts";
import { defineSubcommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import { ownFile } from "../session/own-command.ts";
import type { Session } from "../session/session.ts";
import { messagingOf } from "./chat.ts";
import {
  type AgentOptions,
  agentOption,
  configOf,
  configSources,
  homeOf,
  openPlansOf,
  rootOf,
  surroundings,
  userHomeOf,
} from "./home.ts";
import { checksOf } from "./tick.ts";

const load = () => import("@uncaged/workflow-plan/service");

type ResumeOption = { resume?: boolean };

const resumeOption = (command: Command): Command =>
  command.option("--resume", "resume threads that were interrupted within the last day");

type StopOptions = { drain?: number };

const longestDrain = 86_400;

export const service = defineSubcommand({
  summary: "show, run, install, start and stop the service that fires triggers",
  examples: ["uncaged-workflow plan service", "uncaged-workflow plan service run"],
  run: showStatus,
  commands: {
    run: defineSubcommand({
      summary: "fire triggers until this command is ended",
      declare: (command) => resumeOption(agentOption(command)),
      examples: ["uncaged-workflow plan service run"],
      run: runHere,
    }),
    install: defineSubcommand({
      summary: "write a unit for systemd or launchd, and enable it",
      declare: resumeOption,
      examples: ["uncaged-workflow plan service install"],
      async run(session, { resume = false }: ResumeOption) {
        const { installService } = await load();
        const unit = await unitFor(session, resume);
        session.withUsersUmask(() => installService(unit, session.env));
        session.show({ unit: unit.path }, () => `${unit.path}\n`);
        session.note("start it: uncaged-workflow plan service start");
        if (unit.manager === "systemd")
          session.note('let it run while you are logged out: loginctl enable-linger "$USER"');
      },
    }),
    start: defineSubcommand({
      summary: "start the installed service",
      examples: ["uncaged-workflow plan service start"],
      async run(session) {
        const { startService } = await load();
        await startService(await homeOf(session), await unitFor(session), session.env);
        return await showStatus(session);
      },
    }),
    stop: defineSubcommand({
      summary: "end the service; the runs of plans continue",
      declare: (command) =>
        command.option(
          "--drain <seconds>",
          "pause the runs between two steps first, and wait at most this long",
          wholeNumber("--drain", 1, longestDrain),
        ),
      examples: [
        "uncaged-workflow plan service stop",
        "uncaged-workflow plan service stop --drain 60",
      ],
      async run(session, { drain }: StopOptions) {
        const { stopService } = await load();
        const unit = await unitFor(session).catch(() => null);
        const options = { drainSeconds: drain ?? null, env: session.env };
        const stopped = await stopService(await homeOf(session), unit, options);
        session.show({ stopped }, () => `stopped the service, process ${stopped.pid}\n`);
      },
    }),
    status: defineSubcommand({
      summary: "show whether a service runs, and whether one is installed",
      examples: ["uncaged-workflow plan service status --json"],
      run: showStatus,
    }),
  },
});

async function unitFor(session: Session, resume = false): Promise<Unit> {
  const { unitOf } = await load();
  const { clusterChosen, env } = session;
  const { home, userHome } = await configSources(session);
  const isProjects = home !== userHome;
  const root = rootOf(session);
  if (clusterChosen && withoutPasswords(clusterChosen.url) !== clusterChosen.url) {
    throw wrongUse(
      "the service's file would show the password of the URL",
      "remove the password from the URL, and put it into ~/.pgpass",
    );
  }
  const where = clusterChosen ? ["--host", clusterChosen.url] : ["--root", root];
  const own = env.HOME === undefined ? null : join(env.HOME, ".uncaged/workflow/plans");
  return unitOf({
    argv: [ownFile(), "plan", "service", "run", ...where, ...(resume ? ["--resume"] : [])],
    ...{ home, isDefaultHome: home === own, isProjects, platform: process.platform, userEnv: env },
    env: {
      PATH: env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      ...(clusterChosen && isProjects && { [rootVariable]: root }),
    },
  });
}

async function showStatus(session: Session): Promise<void> {
  const { serviceStatus } = await load();
  const unit = await unitFor(session).catch(() => null);
  const status = serviceStatus(await homeOf(session), unit);
  session.show(status, () => `${statusText(status)}\n`);
  if (!status.running && !status.unit)
    session.note("run it here: uncaged-workflow plan service run; or call plan tick each minute");
}

function statusText({ running, unit }: ServiceStatus): string {
  const installed = unit === null ? "not installed" : `installed as ${unit}`;
  if (!running) return `no service runs; ${installed}`;
  return `a service runs since ${running.startedAt}, process ${running.pid}; ${installed}`;
}

async function runHere(session: Session, options: AgentOptions & ResumeOption): Promise<void> {
  const plans = await load();
  const home = await homeOf(session);
  const terminated = new AbortController();
  process.once("SIGTERM", () => terminated.abort());
  if (!session.clusterChosen) session.note(`sandbox: ${await testedSandbox(session)}`);
  const rest = options.resume
    ? keepAwake(session.host, session.env, {
        resume: true,
        onRecovered: (recovered) => noteRecovered(session, recovered),
      })
    : null;
  try {
    await plans.runService({
      ...checksOf(session, plans, home),
      ...{ home, signal: AbortSignal.any([session.interruption(), terminated.signal]) },
      open: () => openPlansOf(session, options),
      messaging: (opened) => messagingOf(session, opened, { hasBots: true }),
      report: (event) => report(session, event),
      onReady: () =>
        session.note(`the service of ${home} runs; Ctrl-C ends the service, runs continue`),
    });
  } finally {
    rest?.();
  }
}

/**
 * Tests the sandbox that the settings give to plans.
 * @throws ConfigError if the sandbox fails the test
 */
export async function testedSandbox(session: Session): Promise<string> {
  const { testSandbox } = await load();
  const { env } = session;
  const planHome = await homeOf(session);
  const config = await configOf(session);
  const { networkAllow: allow } = config.sandbox;
  const question = {
    ...{ planHome, userHome: await userHomeOf(session), root: rootOf(session) },
    ...{ env, allow, agentNeedsNetwork: false },
  };
  return await testSandbox(surroundings(config), question);
}

function report(session: Session, event: ServiceEvent): void {
  if (event.kind === "error") {
    const reason = event.error instanceof Error ? event.error.message : String(event.error);
    if (session.json) session.stream({ ...event, error: reason });
    session.note(`${event.workflowId ?? "error"}: ${oneLine(reason)}`);
    return;
  }
  if (session.json) session.stream(event);
  session.note(`${event.kind} ${event.workflowId}: ${event.runId}`);
}
