/** An operation as it is sent. */
export interface Operation {
  readonly query: string;
  /** JSON text: it may be such as no value has, with a name twice, or a number that no double holds. */
  readonly variables: string;
}

/** A part of a document, which may need variables and fragments besides. */
export type Part = (writer: DocumentWriter) => string;

/** Collects what an operation needs besides its own fields, and gives it names. */
export class DocumentWriter {
  readonly #declared: string[] = [];
  readonly #sent: string[] = [];
  readonly #fragments: string[] = [];
  #aliases = 0;

  /** Declares a variable. @param json what is sent for it; null: nothing. */
  variable(declaration: string, json: string | null): string {
    const name = `v${this.#declared.length}`;
    this.#declared.push(`$${name}: ${declaration}`);
    if (json !== null) this.#sent.push(`"${name}":${json}`);
    return `$${name}`;
  }

  fragment(type: string, selection: Part): string {
    const text = selection(this);
    const name = `f${this.#fragments.length}`;
    this.#fragments.push(`fragment ${name} on ${type} ${text}`);
    return name;
  }

  /** One that no other field of the document has. */
  alias(): string {
    return `a${this.#aliases++}`;
  }

  operation(type: string, selection: Part): Operation {
    const text = selection(this);
    const declared = this.#declared.length === 0 ? '' : `(${this.#declared.join(', ')})`;
    return { query: [`${type} Q${declared} ${text}`, ...this.#fragments].join('\n'), variables: `{${this.#sent.join(',')}}` };
  }
}
