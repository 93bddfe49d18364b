/*
 * Workflow of the engine and the bare loops. Yields `count` steps of `size` characters. With `together`, waits until that
 * many threads have started, so that their start is not measured. The last thread to finish writes its report to the path
 * in `report` or in the prompt.
 */
export const descriptor = {
  description: "Yields steps as fast as they are committed.",
  roles: { worker: { description: "Does nothing.", schema: { type: "object" } } },
};

const rounds = new Map();
// The clock shared by all processes of a machine.
const now = () => performance.timeOrigin + performance.now();

export async function* run(input, options) {
  const { count = 1, size = 64, together = 1, weigh = false } = options;
  const { report = input.prompt } = options;
  const content = "x".repeat(size);
  const round = meet(report, together, weigh);
  await round.gate;
  for (let n = input.steps.length; n < count; n += 1) {
    yield { role: "worker", content, meta: { n } };
    const taken = n - input.steps.length + 1;
    if (taken % 1000 === 0 && together === 1) round.marks.push(now());
  }
  await part(round, report, together);
  return { returnCode: 0, summary: "" };
}

function meet(report, together, weigh) {
  const fresh = {
    arrived: 0,
    finished: 0,
    began: 0,
    rss: 0,
    marks: [],
    ...Promise.withResolvers(),
  };
  const round = rounds.get(report) ?? { ...fresh, gate: fresh.promise };
  rounds.set(report, round);
  round.arrived += 1;
  if (round.arrived < together) return round;
  if (weigh) round.rss = weight();
  round.began = now();
  round.resolve();
  return round;
}

/** Resident memory in bytes after garbage collections. */
function weight() {
  for (let n = 0; n < 3; n += 1) Bun.gc(true);
  return process.memoryUsage.rss();
}

async function part(round, report, together) {
  round.finished += 1;
  if (round.finished < together || !report) return;
  const ended = now();
  rounds.delete(report);
  const { began, rss, marks } = round;
  await Bun.write(report, JSON.stringify({ began, ended, rss, marks }));
}
