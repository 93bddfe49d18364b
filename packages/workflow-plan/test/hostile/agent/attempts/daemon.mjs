import { spawn } from "node:child_process";
import { attempts, Done, py, sh } from "./attempt.mjs";

/* Processes that try to survive the run. The test looks for their mark after the run. */
const loop = "trap '' TERM HUP INT PIPE; while :; do sleep 1; done";

attempts("daemon", {
  "in a new session": ({ mark }) => {
    sh(`setsid sh -c "${loop}" ${mark} > /dev/null 2>&1 < /dev/null &`);
    return new Done("started");
  },
  "after a double fork": ({ mark }) => {
    sh(`( ( sh -c "${loop}" ${mark} > /dev/null 2>&1 < /dev/null & ) & )`);
    return new Done("started");
  },
  "without an environment": ({ mark }) => {
    sh(`env -i setsid /bin/sh -c "${loop}" ${mark} > /dev/null 2>&1 < /dev/null &`);
    return new Done("started");
  },
  "that ignores the hangup": ({ mark }) => {
    sh(`nohup sh -c "${loop}" ${mark} > /dev/null 2>&1 &`);
    return new Done("started");
  },
  "that holds the output open": ({ mark }) => {
    spawn("/bin/sh", ["-c", loop, mark], { stdio: "inherit", detached: true }).unref();
    return new Done("started");
  },
  "that forks faster than the host can find it": ({ mark }) => {
    py(
      `
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    until = time.time() + 600
    while time.time() < until:
        if os.fork(): os._exit(0)
        time.sleep(0.002)`,
      mark,
    );
    return new Done("started");
  },
  "that is stopped": ({ mark }) => {
    sh(`setsid sh -c "kill -STOP \\$\\$; ${loop}" ${mark} > /dev/null 2>&1 < /dev/null &`);
    return new Done("started");
  },
  "that is traced": ({ mark }) => {
    py(
      `
child = os.fork()
if child == 0:
    os.setsid()
    libc.ptrace(0, 0, 0, 0)
    for fd in (0, 1, 2): os.close(fd)
    os.execv("/bin/sh", ["sh", "-c", "sleep 600", sys.argv[1]])`,
      mark,
    );
    return new Done("started");
  },
  "started by the service manager": ({ mark }) => {
    sh(`systemd-run --user sh -c "${loop}" ${mark}`);
    return "started by the service manager";
  },
  "started by cron": ({ mark }) => {
    sh(`echo '* * * * * sh -c "${loop}" ${mark}' | crontab -`);
    return "left to cron";
  },
  "started by at": ({ mark }) => {
    sh(`echo 'sh -c "${loop}" ${mark}' | at now`);
    return "left to at";
  },
});
