// Numbers that must follow each other.

/** The number after which one is missing, if there is one. */
export function gapAfter(numbers: number[]): number | undefined {
  return numbers.find((number, at) => {
    const next = numbers[at + 1];
    return next !== undefined && next !== number + 1;
  });
}
