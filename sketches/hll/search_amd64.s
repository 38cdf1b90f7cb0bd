//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// func searchLines(b *batch, n int)
//
// A line is sixteen words, the head and fifteen entries. All are compared at
// once, without a branch, so that a miss of the cache for one line does not
// hold up the next, and a random position costs no misprediction.
TEXT ·searchLines(SB), NOSPLIT, $0-16
	MOVQ b+0(FP), DI
	MOVQ n+8(FP), R13
	LEAQ batch_lines(DI), R8
	LEAQ batch_entries(DI), R9
	LEAQ batch_found(DI), R10
	XORQ BX, BX
	XORQ R11, R11

event:
	MOVQ     (R8)(BX*8), AX
	MOVL     (R9)(BX*4), X0
	PSRLL    $6, X0
	PSHUFL   $0, X0, X0
	MOVOU    (AX), X1
	MOVOU    16(AX), X2
	MOVOU    32(AX), X3
	MOVOU    48(AX), X4
	MOVL     (AX), CX // the head
	PSRLL    $6, X1
	PSRLL    $6, X2
	PSRLL    $6, X3
	PSRLL    $6, X4
	PCMPEQL  X0, X1
	PCMPEQL  X0, X2
	PCMPEQL  X0, X3
	PCMPEQL  X0, X4
	PACKSSLW X2, X1
	PACKSSLW X4, X3
	PACKSSWB X3, X1
	PMOVMSKB X1, SI // bit k: word k of the line

	// Words 1 to head count, none if the head says the registers are elsewhere.
	CMPL    CX, $const_inline
	CMOVLHI R11, CX
	MOVL    $2, R12
	SHLL    CX, R12
	SUBL    $2, R12
	ANDL    R12, SI
	BSFL    SI, SI
	CMOVLEQ R11, SI
	MOVB    SI, (R10)(BX*1)
	INCQ    BX
	CMPQ    BX, R13
	JLT     event
	RET
