//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// What X1 to X5 hold: sixteen times 2, 0x21, a backslash, the digit 0, and 9.
DATA rows<>+0(SB)/8, $0x0202020202020202
DATA rows<>+8(SB)/8, $0x0202020202020202
DATA rows<>+16(SB)/8, $0x2121212121212121
DATA rows<>+24(SB)/8, $0x2121212121212121
DATA rows<>+32(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA rows<>+40(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA rows<>+48(SB)/8, $0x3030303030303030
DATA rows<>+56(SB)/8, $0x3030303030303030
DATA rows<>+64(SB)/8, $0x0909090909090909
DATA rows<>+72(SB)/8, $0x0909090909090909
GLOBL rows<>(SB), RODATA|NOPTR, $80

// NOTDIGIT sets the bit in R10 of each of sixteen bytes at index DX that is no digit, and the
// zero flag if all are digits.
#define NOTDIGIT \
	MOVOU    (BX)(DX*1), X0  \
	PSUBB    X4, X0          \
	MOVO     X0, X6          \
	PMINUB   X5, X6          \
	PCMPEQB  X6, X0          \
	PMOVMSKB X0, R10         \
	XORL     $0xffff, R10

// NOTE notes that doc[R13:DX] is the value of slot R10. A span has 16 bytes.
#define NOTE(typ) \
	BTSQ R10, R12                   \
	SHLQ $4, R10                    \
	MOVL R13, span_from(DI)(R10*1)  \
	MOVL DX, span_to(DI)(R10*1)     \
	MOVB $typ, span_typ(DI)(R10*1)

// STEP goes to the step whose number a field has. A step has 64 bytes.
#define STEP(field) \
	MOVBLZX field(SI)(AX*1), AX  \
	SHLL    $6, AX

// func stride(steps *step, spans *span, doc *byte, size, i int, at uint8) (next int, to uint8, found uint64, ended bool)
//
// AX  offset of the step      R8  where its literal begins
// BX  the document            R11 the greatest index at which 17 bytes can be read
// CX  its size                R12 found
// SI  the steps               R13 where the value begins
// DI  the spans               DX  where it ends
TEXT ·stride(SB), NOSPLIT, $0-73
	MOVQ  steps+0(FP), SI
	MOVQ  spans+8(FP), DI
	MOVQ  doc+16(FP), BX
	MOVQ  size+24(FP), CX
	MOVQ  i+32(FP), R8
	MOVBLZX at+40(FP), AX
	SHLL  $6, AX
	XORL  R12, R12
	MOVOU rows<>+0(SB), X1
	MOVOU rows<>+16(SB), X2
	MOVOU rows<>+32(SB), X3
	MOVOU rows<>+48(SB), X4
	MOVOU rows<>+64(SB), X5

	// Memory is readable to the end of a page.
	LEAQ -17(CX), R11
	LEAQ -1(BX)(CX*1), DX
	ANDL $4095, DX
	CMPL DX, $(4096-17)
	JHI  literal
	LEAQ -1(CX), R11

literal:
	CMPQ     R8, R11
	JGT      stop
	MOVOU    (BX)(R8*1), X0
	MOVOU    step_first(SI)(AX*1), X6
	PCMPEQB  X6, X0
	PMOVMSKB X0, R10
	MOVWLZX  step_bits(SI)(AX*1), DX
	ANDL     DX, R10
	CMPL     R10, DX
	JNE      other
	MOVWLZX  step_size(SI)(AX*1), R13
	ADDQ     R8, R13
	CMPW     step_usual(SI)(AX*1), $const_tail
	JLE      unusual
	LEAQ     1(R13), DX
	CMPB     (BX)(R13*1), $'"'
	JNE      number

string:
	CMPQ     DX, R11
	JGT      stop
	MOVOU    (BX)(DX*1), X0
	MOVO     X3, X6
	PCMPEQB  X0, X6 // a backslash
	PXOR     X1, X0
	MOVO     X2, X7
	PCMPGTB  X0, X7 // a quote, which is 0x20 now, a control character, or not ASCII, which is negative
	POR      X6, X7
	PMOVMSKB X7, R10
	TESTL    R10, R10
	JNE      quote
	ADDQ     $16, DX
	JMP      string

quote:
	BSFL R10, R10
	ADDQ R10, DX
	CMPQ DX, CX
	JGE  stop
	CMPB (BX)(DX*1), $'"'
	JNE  stop
	LEAQ 1(DX), R8
	CMPW step_slot(SI)(AX*1), $0
	JGE  text
	STEP(step_next)
	JMP  literal

text:
	INCQ    R13
	MOVWQSX step_slot(SI)(AX*1), R10
	NOTE(const_String)
	STEP(step_next)
	JMP     literal

number:
	CMPQ    DX, R11
	JGT     stop
	MOVBLZX (BX)(R13*1), R10
	CMPL    R10, $'-'
	JNE     unsigned
	MOVBLZX (BX)(DX*1), R10
	INCQ    DX

unsigned:
	SUBL $'0', R10
	JEQ  whole
	CMPL R10, $9
	JHI  stop

digits:
	CMPQ DX, R11
	JGT  stop
	NOTDIGIT
	JNE  digit
	ADDQ $16, DX
	JMP  digits

digit:
	BSFL R10, R10
	ADDQ R10, DX

whole:
	CMPQ    DX, CX
	JGE     stop
	MOVBLZX (BX)(DX*1), R10
	CMPL    R10, $'.'
	JNE     behind
	INCQ    DX
	CMPQ    DX, R11
	JGT     stop
	NOTDIGIT
	TESTL   $1, R10
	JNE     stop // a point and no digit

decimals:
	TESTL R10, R10
	JNE   decimal
	ADDQ  $16, DX
	CMPQ  DX, R11
	JGT   stop
	NOTDIGIT
	JMP   decimals

decimal:
	BSFL    R10, R10
	ADDQ    R10, DX
	CMPQ    DX, CX
	JGE     stop
	MOVBLZX (BX)(DX*1), R10

behind:
	CMPL R10, $','
	JEQ  figure
	CMPL R10, $'}'
	JNE  stop

figure:
	MOVQ    DX, R8
	MOVWQSX step_slot(SI)(AX*1), R10
	TESTQ   R10, R10
	JLT     skip
	NOTE(const_Number)

skip:
	STEP(step_next)
	JMP literal

other:
	STEP(step_other)
	JMP literal

unusual:
	CMPW step_slot(SI)(AX*1), $const_tail
	JNE  stop
	CMPQ R13, CX
	JNE  stop
	MOVB $1, ended+72(FP)
	JMP  done

stop:
	MOVB $0, ended+72(FP)

done:
	SHRL $6, AX
	MOVQ R8, next+48(FP)
	MOVB AX, to+56(FP)
	MOVQ R12, found+64(FP)
	RET
