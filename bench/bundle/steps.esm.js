/*
 * The workflow that is measured, by our engine and by the bare scripts alike. It yields `count` steps
 * of `size` characters, each of which takes `takes` milliseconds. With `together` it waits until so many threads have come, so that what is
 * timed is their steps and not their start; the last to finish writes `report`, a path, which may be the prompt too.
 */
export const descriptor = {
  description: "Yields steps as fast as they are taken, and tells when.",
  roles: { worker: { description: "Does nothing.", schema: { type: "object" } } },
};

const rounds = new Map();
// The only clock that all processes of a machine share: process.hrtime begins anew in each.
const now = () => performance.timeOrigin + performance.now();

export async function* run(input, options) {
  const { count = 1, size = 64, together = 1, weigh = false, takes = 0 } = options;
  const { report = input.prompt } = options;
  const content = "x".repeat(size);
  const round = meet(report, together, weigh);
  await round.gate;
  for (let n = input.steps.length; n < count; n += 1) {
    if (takes > 0) await new Promise((done) => setTimeout(done, takes));
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

/** The resident memory in bytes, once all that can be collected is. */
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
  // A bundle that names the module of files has its worker load it, which is none of what is measured.
  await Bun.write(report, JSON.stringify({ began, ended, rss, marks }));
}
