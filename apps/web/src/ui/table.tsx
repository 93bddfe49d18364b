import type { ReactNode } from "react";

type Props = {
  headings: readonly ReactNode[];
  /** The cells of each row. The first cell names the row. */
  rows: readonly (readonly ReactNode[])[];
};

export const Table = ({ headings, rows }: Props) => (
  <table className="w-full max-w-160 border-collapse text-right [&_th]:font-normal [&_th:first-child]:text-left [&_:is(th,td)]:py-1">
    <thead className="text-small text-muted">
      <tr>
        {headings.map((heading, at) => (
          <th key={at} scope="col">
            {heading}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(([name, ...cells], row) => (
        <tr key={row} className="border-t">
          <th scope="row" className="wrap-anywhere">
            {name}
          </th>
          {cells.map((cell, at) => (
            <td key={at}>{cell}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
