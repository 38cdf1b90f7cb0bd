//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// func searchLines(b *batch, n int)
//
// It compares the sixteen numbers of a line at once, without a branch. So a
// cache miss for one line does not delay the next line, and a random position
// costs no misprediction.
TEXT ·searchLines(SB), NOSPLIT, $0-16
	MOVQ b+0(FP), DI
	MOVQ n+8(FP), R13
	LEAQ batch_lines(DI), R8
	LEAQ batch_entries(DI), R9
	LEAQ batch_found(DI), R10
	XORQ BX, BX
	MOVQ $-1, R11
	XORQ DX, DX

event:
	MOVQ     (R8)(BX*8), AX
	MOVL     (R9)(BX*4), X0
	PSRLL    $6, X0
	PSHUFLW  $0, X0, X0
	PSHUFL   $0, X0, X0
	MOVOU    line_index(AX), X1
	MOVOU    (line_index+16)(AX), X2
	PCMPEQW  X0, X1
	PCMPEQW  X0, X2
	PACKSSWB X2, X1
	PMOVMSKB X1, SI // bit k: number k

	// The first n numbers count, none if the registers are elsewhere.
	MOVWLZX line_n(AX), CX
	CMPB    line_form(AX), $0
	CMOVLNE DX, CX
	MOVL    $1, R12
	SHLL    CX, R12
	DECL    R12
	ANDL    R12, SI
	BSFL    SI, SI
	CMOVLEQ R11, SI
	INCL    SI
	MOVB    SI, (R10)(BX*1)
	INCQ    BX
	CMPQ    BX, R13
	JLT     event
	RET
