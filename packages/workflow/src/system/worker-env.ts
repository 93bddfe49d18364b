/**
 * The environment variable that holds a worker's mark. After the loss of a worker, only processes with its mark are
 * ended.
 */
export const markVariable = "UNCAGED_WORKFLOW_WORKER";

/** Size of Bun's and libuv's thread pool, and so the number of logs that are synced concurrently. */
const syncsAtOnce = 32;

const passedOn: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "NODE_EXTRA_CA_CERTS"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"],
]);

/**
 * Returns the environment of a worker process: a few variables of this process, and a unique mark. A thread's
 * environment comes with its request.
 */
export function workerEnv(random: () => number): Record<string, string> {
  const own = Object.entries(process.env).filter(([name, value]) => {
    const known = name.toUpperCase();
    return value !== undefined && (passedOn.has(known) || known.startsWith("LC_"));
  });
  return {
    ...(Object.fromEntries(own) as Record<string, string>),
    UV_THREADPOOL_SIZE: String(syncsAtOnce),
    [markVariable]: random().toString(36).slice(2).padEnd(8, "0"),
  };
}
