import type { Environment } from "@uncaged/workflow/host";
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { homeVariable } from "../store/home.ts";
import { lineBreakInUnit, managerUnknown, relativeProgram } from "./errors.ts";

/** Options of {@link unitOf}. */
export type UnitOptions = {
  /** The command line of the service. The first word is an absolute path. */
  argv: readonly string[];
  home: string;
  /** Whether the home is the storage root's default home. If so, the unit's name needs no suffix. */
  isDefaultHome: boolean;
  /**
   * Whether the home is in a project's storage root. The service finds the home by the root, because an explicit
   * home counts as the user's home.
   */
  isProjects?: boolean;
  /** The service's environment, except the home: PATH, and the variables for models. */
  env: Readonly<Record<string, string>>;
  platform: NodeJS.Platform;
  /** The user's environment; only `HOME` and `XDG_CONFIG_HOME` are read. */
  userEnv: Environment;
};

/** A unit of the system's service manager: its file, and the commands that make the manager load it. */
export type Unit = {
  manager: "systemd" | "launchd";
  name: string;
  path: string;
  text: string;
  install: string[][];
  start: string[][];
  stop: string[][];
};

/**
 * Returns the unit of a plan home's service: a systemd user unit on Linux, a launchd agent on macOS. The unit restarts
 * the service whenever it ends, and does not end the processes of runs.
 * @throws ConfigError on other systems.
 */
export function unitOf(options: UnitOptions): Unit {
  const { argv, home, platform } = options;
  const [program = ""] = argv;
  if (!isAbsolute(program)) throw relativeProgram(program);
  for (const text of [...argv, home, ...Object.values(options.env)])
    if (/[\n\r\0]/.test(text)) throw lineBreakInUnit();
  if (platform === "linux") return systemdUnit(options);
  if (platform === "darwin") return launchdUnit(options);
  throw managerUnknown(platform);
}

/** Returns the part of a unit's name that distinguishes homes. */
const suffixOf = ({ home, isDefaultHome }: UnitOptions): string =>
  isDefaultHome ? "" : `-${createHash("sha256").update(home).digest("hex").slice(0, 8)}`;

const variablesOf = ({ env, home, isProjects }: UnitOptions): [name: string, value: string][] =>
  Object.entries(isProjects ? env : { ...env, [homeVariable]: home });

function systemdUnit(options: UnitOptions): Unit {
  const { argv, userEnv } = options;
  const name = `uncaged-workflow-plan${suffixOf(options)}.service`;
  const config = userEnv.XDG_CONFIG_HOME || join(userEnv.HOME || homedir(), ".config");
  const text = `[Unit]
Description=Plans of uncaged-workflow in ${specifiers(options.home)}

[Service]
ExecStart=${argv.map((word) => quoted(word).replaceAll("$", "$$$$")).join(" ")}
${variablesOf(options)
  .map(([key, value]) => `Environment=${quoted(`${key}=${value}`)}`)
  .join("\n")}
Restart=always
RestartSec=5
KillMode=process

[Install]
WantedBy=default.target
`;
  const systemctl = ["systemctl", "--user"];
  return {
    ...{ manager: "systemd", name, path: join(config, "systemd/user", name), text },
    install: [
      [...systemctl, "daemon-reload"],
      [...systemctl, "enable", name],
    ],
    start: [[...systemctl, "start", name]],
    stop: [[...systemctl, "stop", name]],
  };
}

const specifiers = (text: string): string => text.replaceAll("%", "%%");

/** Quotes a word of a systemd unit: systemd.syntax(7), systemd.service(5). */
const quoted = (word: string): string =>
  `"${specifiers(word).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

function launchdUnit(options: UnitOptions): Unit {
  const { argv, home, userEnv } = options;
  const name = `uncaged.workflow.plan${suffixOf(options)}`;
  const path = join(userEnv.HOME || homedir(), "Library/LaunchAgents", `${name}.plist`);
  const log = join(home, "service.log");
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xml(name)}</string>
  <key>ProgramArguments</key>
  <array>
${argv.map((word) => `    <string>${xml(word)}</string>`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variablesOf(options)
  .map(([key, value]) => `    <key>${xml(key)}</key>\n    <string>${xml(value)}</string>`)
  .join("\n")}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>StandardOutPath</key>
  <string>${xml(log)}</string>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
  return {
    ...{ manager: "launchd", name, path, text, install: [] },
    start: [["launchctl", "bootstrap", domain, path]],
    stop: [["launchctl", "bootout", `${domain}/${name}`]],
  };
}

const xml = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
