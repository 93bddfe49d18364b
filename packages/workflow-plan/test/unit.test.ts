import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../src/entry/index.ts";
import {
  installService,
  serviceStatus,
  startService,
  stopService,
  unitOf,
} from "../src/entry/service.ts";
import { type UnitOptions } from "../src/service/unit.ts";
import { codeOf } from "../../workflow/test/fixtures/until.ts";

/* The unit files of the service, and their commands. Scripts replace the system's managers and record the calls. */
const folder = mkdtempSync(join(tmpdir(), "uw-unit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = (more: Partial<UnitOptions> = {}): UnitOptions => ({
  argv: ["/opt/my tools/uncaged-workflow", "plan", "service", "run", "--root", "/home/me/100%"],
  home: '/home/me/$plans & "more"',
  isDefaultHome: true,
  env: { PATH: "/usr/bin:/bin" },
  platform: "linux",
  userEnv: { HOME: "/home/me" },
  ...more,
});

test("the systemd unit restarts the installed command whenever it ends, and does not end runs", () => {
  const { name, path, text } = unitOf(options());
  expect([name, path]).toEqual([
    "uncaged-workflow-plan.service",
    "/home/me/.config/systemd/user/uncaged-workflow-plan.service",
  ]);
  expect(text).toMatchInlineSnapshot(`
    "[Unit]
    Description=Plans of uncaged-workflow in /home/me/$plans & "more"

    [Service]
    ExecStart="/opt/my tools/uncaged-workflow" "plan" "service" "run" "--root" "/home/me/100%%"
    Environment="PATH=/usr/bin:/bin"
    Environment="UNCAGED_PLAN_HOME=/home/me/$plans & \\"more\\""
    Restart=always
    RestartSec=5
    KillMode=process

    [Install]
    WantedBy=default.target
    "
  `);
  const other = unitOf(options({ isDefaultHome: false, userEnv: { XDG_CONFIG_HOME: "/c" } }));
  expect(other.path).toMatch(/^\/c\/systemd\/user\/uncaged-workflow-plan-[0-9a-f]{8}\.service$/);
});

test("the launchd agent restarts the installed command too", () => {
  const { path, text } = unitOf(options({ platform: "darwin" }));
  expect(path).toBe("/home/me/Library/LaunchAgents/uncaged.workflow.plan.plist");
  expect(text).toMatchInlineSnapshot(`
    "<?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <dict>
      <key>Label</key>
      <string>uncaged.workflow.plan</string>
      <key>ProgramArguments</key>
      <array>
        <string>/opt/my tools/uncaged-workflow</string>
        <string>plan</string>
        <string>service</string>
        <string>run</string>
        <string>--root</string>
        <string>/home/me/100%</string>
      </array>
      <key>EnvironmentVariables</key>
      <dict>
        <key>PATH</key>
        <string>/usr/bin:/bin</string>
        <key>UNCAGED_PLAN_HOME</key>
        <string>/home/me/$plans &amp; &quot;more&quot;</string>
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
      <string>/home/me/$plans &amp; &quot;more&quot;/service.log</string>
      <key>StandardErrorPath</key>
      <string>/home/me/$plans &amp; &quot;more&quot;/service.log</string>
    </dict>
    </plist>
    "
  `);
});

test("an invalid unit is refused", () => {
  expect(() => unitOf(options({ argv: ["uncaged-workflow"] }))).toThrow("is not an absolute path");
  expect(() => unitOf(options({ home: "/a\nExecStart=/bin/sh" }))).toThrow("line break");
  expect(() => unitOf(options({ platform: "win32" }))).toThrow(ConfigError);
});

test("a unit is written and enabled, or nothing is written on a system without a manager", async () => {
  const userEnv = { HOME: folder, PATH: folder };
  const unit = unitOf(options({ userEnv, home: folder }));
  expect(() => installService(unit, userEnv)).toThrow("systemctl not found on PATH");
  expect(existsSync(unit.path)).toBe(false);
  expect(await codeOf(startService(folder, unit, userEnv))).toBe("CONFIG_ERROR");
  const systemctl = join(folder, "systemctl");
  writeFileSync(systemctl, `#!/bin/sh\necho "$@" >> ${folder}/calls\n`);
  chmodSync(systemctl, 0o755);
  const env = { ...userEnv, PATH: `${folder}:/bin:/usr/bin` };
  installService(unit, env);
  expect(readFileSync(unit.path, "utf8")).toBe(unit.text);
  expect(readFileSync(join(folder, "calls"), "utf8")).toBe(
    "--user daemon-reload\n--user enable uncaged-workflow-plan.service\n",
  );
  expect(serviceStatus(folder, unit)).toEqual({ home: folder, running: null, unit: unit.path });
  const stopped = stopService(folder, unit, { drainSeconds: null, env });
  expect(await codeOf(stopped)).toBe("EXECUTOR_ERROR");
  writeFileSync(systemctl, "#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n");
  expect(() => installService(unit, env)).toThrow(
    "systemctl --user daemon-reload failed: Failed to connect to bus",
  );
});
