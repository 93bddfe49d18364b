import { SourceLine, tokensOf } from "../../ui/source-line.tsx";

type Props = { file: string; frame: { from: number; lines: readonly string[] }; line: number };

/** Maximum number of characters of a line to show. A line may be a whole minified program. */
const longestLine = 2_000;

export default function CodeFrame({ file, frame: { from, lines }, line }: Props) {
  const text = lines.map((one) => one.slice(0, longestLine)).join("\n");
  return (
    <div
      className="overflow-x-auto py-1 -outline-offset-2"
      role="group"
      aria-label="Source"
      tabIndex={0}
    >
      {tokensOf(text, file).map((tokens, index) => (
        <SourceLine
          key={index}
          number={from + index}
          tokens={tokens}
          isMarked={from + index === line}
        />
      ))}
    </div>
  );
}
