//go:build !purego

#include "textflag.h"

// func orAVX2(d, s *byte, blocks int)
// d |= s over blocks of 128 bytes.
TEXT ·orAVX2(SB), NOSPLIT, $0-24
	MOVQ d+0(FP), DI
	MOVQ s+8(FP), SI
	MOVQ blocks+16(FP), CX

or_loop:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPOR    (DI), Y0, Y0
	VPOR    32(DI), Y1, Y1
	VPOR    64(DI), Y2, Y2
	VPOR    96(DI), Y3, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	DECQ    CX
	JNZ     or_loop
	VZEROUPPER
	RET

// func or2AVX2(d, s, t *byte, blocks int)
// d |= s | t over blocks of 128 bytes.
TEXT ·or2AVX2(SB), NOSPLIT, $0-32
	MOVQ d+0(FP), DI
	MOVQ s+8(FP), SI
	MOVQ t+16(FP), DX
	MOVQ blocks+24(FP), CX

or2_loop:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPOR    (DX), Y0, Y0
	VPOR    32(DX), Y1, Y1
	VPOR    64(DX), Y2, Y2
	VPOR    96(DX), Y3, Y3
	VPOR    (DI), Y0, Y0
	VPOR    32(DI), Y1, Y1
	VPOR    64(DI), Y2, Y2
	VPOR    96(DI), Y3, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DX
	ADDQ    $128, DI
	DECQ    CX
	JNZ     or2_loop
	VZEROUPPER
	RET

// The number of ones in each nibble 0..15, twice.
DATA nibble<>+0(SB)/8, $0x0302020102010100
DATA nibble<>+8(SB)/8, $0x0403030203020201
DATA nibble<>+16(SB)/8, $0x0302020102010100
DATA nibble<>+24(SB)/8, $0x0403030203020201
GLOBL nibble<>(SB), RODATA|NOPTR, $32

DATA low<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL low<>(SB), RODATA|NOPTR, $8

// Adds to the byte sums Y9 the ones of each byte at off(SI): a table of
// sixteen, looked up for the lower and for the upper nibble (W. Muła).
#define ONES(off, A, B) \
	VMOVDQU off(SI), A    \
	VPSRLW  $4, A, B      \
	VPAND   Y14, A, A     \
	VPAND   Y14, B, B     \
	VPSHUFB A, Y15, A     \
	VPSHUFB B, Y15, B     \
	VPADDB  A, Y9, Y9     \
	VPADDB  B, Y9, Y9

// func countAVX2(b *byte, blocks int) uint64
// The number of ones in blocks of 256 bytes. A byte sum gets at most 8 times 8.
TEXT ·countAVX2(SB), NOSPLIT, $0-24
	MOVQ         b+0(FP), SI
	MOVQ         blocks+8(FP), CX
	VMOVDQU      nibble<>(SB), Y15
	VPBROADCASTQ low<>(SB), Y14
	VPXOR        Y13, Y13, Y13
	VPXOR        Y10, Y10, Y10

count_loop:
	VPXOR   Y9, Y9, Y9
	ONES(0, Y0, Y1)
	ONES(32, Y2, Y3)
	ONES(64, Y4, Y5)
	ONES(96, Y6, Y7)
	ONES(128, Y0, Y1)
	ONES(160, Y2, Y3)
	ONES(192, Y4, Y5)
	ONES(224, Y6, Y7)
	VPSADBW Y13, Y9, Y9
	VPADDQ  Y9, Y10, Y10
	ADDQ    $256, SI
	DECQ    CX
	JNZ     count_loop

	VEXTRACTI128 $1, Y10, X0
	VPADDQ       X0, X10, X0
	VPSRLDQ      $8, X0, X1
	VPADDQ       X1, X0, X0
	VMOVQ        X0, AX
	MOVQ         AX, ret+16(FP)
	VZEROUPPER
	RET

// func countVPOPCNT(b *byte, blocks int) uint64
// The number of ones in blocks of 256 bytes.
TEXT ·countVPOPCNT(SB), NOSPLIT, $0-24
	MOVQ   b+0(FP), SI
	MOVQ   blocks+8(FP), CX
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7

popcnt_loop:
	VPOPCNTQ (SI), Z0
	VPOPCNTQ 64(SI), Z1
	VPOPCNTQ 128(SI), Z2
	VPOPCNTQ 192(SI), Z3
	VPADDQ   Z0, Z4, Z4
	VPADDQ   Z1, Z5, Z5
	VPADDQ   Z2, Z6, Z6
	VPADDQ   Z3, Z7, Z7
	ADDQ     $256, SI
	DECQ     CX
	JNZ      popcnt_loop

	VPADDQ        Z5, Z4, Z4
	VPADDQ        Z7, Z6, Z6
	VPADDQ        Z6, Z4, Z4
	VEXTRACTI64X4 $1, Z4, Y0
	VPADDQ        Y0, Y4, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDQ        X1, X0, X0
	VPSRLDQ       $8, X0, X1
	VPADDQ        X1, X0, X0
	VMOVQ         X0, AX
	MOVQ          AX, ret+16(FP)
	VZEROUPPER
	RET
