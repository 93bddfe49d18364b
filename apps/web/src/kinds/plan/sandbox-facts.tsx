/** The facts about a plan's sandbox, one per line. */
export function SandboxFacts({ facts }: { facts: readonly string[] }) {
  return (
    <ul className="grid gap-0.5">
      {facts.map((fact, at) => (
        <li key={at}>{fact}</li>
      ))}
    </ul>
  );
}
